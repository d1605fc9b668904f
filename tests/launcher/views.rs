//! Copies to, from and between views of parts of buffers.

use hiplaunch::{DeviceBuffer, Error, Launcher};

use hiplaunch_testing::rig::*;

#[test]
fn copies_of_a_view_change_only_its_elements() {
    on_each(|rig| {
        let buffer = DeviceBuffer::from_slice(&rig.stream, &[0u32, 1, 2, 3, 4, 5, 6, 7]).unwrap();
        let part = |start: usize, len: usize| buffer.view_strided(start, &[len], &[1]).unwrap();
        part(2, 3).upload(&rig.stream, &[20, 30, 40]).unwrap();
        part(6, 2).copy_from(&rig.stream, &part(2, 2)).unwrap();
        part(0, 1).fill_bytes(&rig.stream, 0xff).unwrap();
        part(1, 1).fill_words(&rig.stream, 0x1234_5678).unwrap();
        assert_eq!(buffer.to_vec(&rig.stream).unwrap(), [u32::MAX, 0x1234_5678, 20, 30, 40, 5, 20, 30]);
        let mut read = [0; 4];
        part(4, 4).download(&rig.stream, &mut read).unwrap();
        assert_eq!(read, [40, 5, 20, 30]);
        part(8, 0).upload(&rig.stream, &[]).unwrap();
        part(3, 0).copy_from(&rig.stream, &part(3, 0)).unwrap();
        rig.assert_clean();
    });
}

#[test]
fn copies_that_do_not_fit_a_view_are_refused_and_write_nothing() {
    on_each(|rig| {
        let buffer = DeviceBuffer::from_slice(&rig.stream, &[1u32; 8]).unwrap();
        let view = buffer.view();
        let gaps = buffer.view_strided(0, &[4], &[2]).unwrap();
        let other = Launcher::builder().backend(hiplaunch::Backend::Emulator).build().unwrap();
        let foreign = other.stream(other.device(0).unwrap()).unwrap();
        let bytes = DeviceBuffer::from_slice(&rig.stream, &[1u8; 16]).unwrap();
        let mut read = [0; 8];
        for refused in [
            view.upload(&rig.stream, &[2; 7]),
            view.upload(&foreign, &[2; 8]),
            view.download(&rig.stream, &mut read[..4]),
            gaps.upload(&rig.stream, &[2; 4]),
            gaps.fill_bytes(&rig.stream, 0),
            gaps.copy_from(&rig.stream, &buffer.view_strided(0, &[4], &[1]).unwrap()),
            view.copy_from(&rig.stream, &gaps),
            view.copy_from(&rig.stream, &view),
            view.fill_bytes(&foreign, 0),
            gaps.fill_words(&rig.stream, 0),
            view.fill_words(&foreign, 0),
            bytes.view_strided(2, &[8], &[1]).unwrap().fill_words(&rig.stream, 0),
            bytes.view_strided(4, &[6], &[1]).unwrap().fill_words(&rig.stream, 0),
        ] {
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
        }
        assert_eq!(buffer.to_vec(&rig.stream).unwrap(), [1; 8]);
        rig.assert_clean();
    });
}
