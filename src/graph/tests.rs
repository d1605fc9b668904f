//! Each event between branches is needed: without it the validation layer reports a race.

use crate::code::{KernelHandle, LaunchDims};
use crate::launcher::Launcher;
use crate::stream::Stream;
use crate::{Backend, DeviceBuffer};
use hip_driver_layers::validation::ValidationDriver;

use super::branches::Schedule;
use super::record::{Graph, GraphArg, GraphValue};
use super::{Branches, CompiledGraph};

const N: usize = 64;

struct Rig {
    launcher: Launcher,
    stream: Stream,
    add: KernelHandle,
    x: DeviceBuffer<f32>,
    out: Vec<DeviceBuffer<f32>>,
}

impl Rig {
    fn open() -> Rig {
        let launcher = Launcher::builder().backend(Backend::Emulator).validate(true).build().unwrap();
        let device = launcher.device(0).unwrap().clone();
        let stream = launcher.stream(&device).unwrap();
        let code = include_bytes!("../../hip/vector.gfx90a.co");
        // SAFETY: the kernel does what hip/README.md says.
        let add = unsafe { launcher.register(&device, code, "vadd_f32") }.unwrap();
        let x = DeviceBuffer::from_slice(&stream, &[1.0f32; N]).unwrap();
        let out = (0..2).map(|_| DeviceBuffer::on(&stream, N).unwrap()).collect();
        Rig { launcher, stream, add, x, out }
    }

    fn validation(&self) -> &ValidationDriver {
        self.launcher.validation().unwrap()
    }

    fn add(&self, g: &mut Graph, x: GraphValue, y: GraphValue, to: GraphValue) {
        let args = [GraphArg::Read(x), GraphArg::Read(y), GraphArg::Write(to), (N as i32).into()];
        // SAFETY: as the kernel takes it.
        unsafe { g.launch(self.add, LaunchDims::cover(N as u32, 256), &args) }.unwrap();
    }

    /// Records three branches of different lengths from `x`, two of which meet. Temporaries are reused, so that the
    /// reuse of memory is ordered too.
    fn graph(&self) -> CompiledGraph {
        let mut g = self.launcher.graph(self.stream.device()).unwrap();
        g.set_branches(Branches::Streams(3));
        let x = g.buffer(&self.x).unwrap();
        let out: Vec<GraphValue> = self.out.iter().map(|o| g.buffer(o).unwrap()).collect();
        let mut ends = Vec::new();
        for length in 2..5 {
            let (mut from, mut to) = (x, g.temporary::<f32>(N).unwrap());
            for _ in 0..length {
                self.add(&mut g, from, from, to);
                (from, to) = (to, g.temporary::<f32>(N).unwrap());
            }
            ends.push(from);
        }
        self.add(&mut g, ends[0], ends[1], out[0]);
        self.add(&mut g, ends[2], ends[2], out[1]);
        let sum = g.temporary::<f32>(N).unwrap();
        self.add(&mut g, out[0], ends[2], sum);
        g.read(&sum).unwrap();
        g.compile(&self.stream).unwrap()
    }

    /// Computes it after unfinished work on the stream, and reads all results.
    fn run(&mut self, graph: &mut CompiledGraph) -> Vec<f32> {
        self.x.fill(&self.stream, 1.0).unwrap();
        let mut all = graph.submit().unwrap().read().unwrap().slice::<f32>(0).unwrap().to_vec();
        self.out.iter().for_each(|o| all.extend(o.to_vec(&self.stream).unwrap()));
        all
    }
}

/// A change that removes a wait.
type Mutation = Box<dyn Fn(&mut Schedule)>;

/// Removes each of the event waits that `all` lists, one at a time, and checks that it is needed.
fn each_is_needed(all: impl Fn(&mut Schedule) -> Vec<Mutation>) -> usize {
    let count = {
        let rig = Rig::open();
        all(rig.graph().instance_mut().program.schedule.as_mut().unwrap()).len()
    };
    for nth in 0..count {
        let mut rig = Rig::open();
        let mut graph = rig.graph();
        let schedule = graph.instance_mut().program.schedule.as_mut().unwrap();
        all(schedule)[nth](schedule);
        rig.run(&mut graph);
        let violations = rig.validation().violations();
        assert!(violations.iter().any(|v| v.is_order()), "wait {nth} of {count}: {violations:#?}");
        rig.stream.synchronize().unwrap();
    }
    count
}

#[test]
fn every_wait_between_branches_is_needed_and_they_are_enough() {
    let mut rig = Rig::open();
    let mut graph = rig.graph();
    assert_eq!(graph.streams(), 3);
    for _ in 0..3 {
        let all = rig.run(&mut graph);
        let expected = [(28.0, N), (12.0, N), (32.0, N)].map(|(v, n)| vec![v; n]).concat();
        assert_eq!(all, expected);
    }
    assert_eq!(rig.validation().violations(), []);

    let waits = each_is_needed(|schedule| {
        let mut all: Vec<Mutation> = Vec::new();
        for (step, waits) in schedule.waits.iter().enumerate() {
            for nth in 0..waits.len() {
                all.push(Box::new(move |s| {
                    s.waits[step].remove(nth);
                }));
            }
        }
        all
    });
    let joins = each_is_needed(|schedule| {
        let take = |nth: usize| -> Mutation {
            Box::new(move |s| {
                s.joins.remove(nth);
            })
        };
        (0..schedule.joins.len()).map(take).collect()
    });
    let schedule = graph.instance_mut().program.schedule.as_ref().unwrap();
    assert_eq!((waits, joins), (schedule.waits.iter().map(|w| w.len()).sum(), schedule.joins.len()));
    assert!(waits >= 4 && joins >= 1, "{waits} {joins}");
}
