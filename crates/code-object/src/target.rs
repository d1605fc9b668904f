//! Targets: a processor and its xnack and sramecc setting, as text, in `e_flags`, and against a device.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use crate::error::Error;

/// The triple that code objects for ROCm have, as it is written here.
const TRIPLE: &str = "amdgcn-amd-amdhsa";

/// The triple's operating system.
const OS: &str = "amdhsa";

/// The vendors that compilers wrote in triples: today's, and none in the files of XLA and of early LLVM.
const VENDORS: [&str; 3] = ["amd", "unknown", ""];

/// Processors that LLVM knows: `EF_AMDGPU_MACH` number, name, whether it has sramecc and xnack settings.
/// From LLVM AMDGPU usage, "AMDGPU Processors" and "AMDGPU ELF Header e_flags for Code Object V4 and After".
const PROCESSORS: &[(u8, &str, bool, bool)] = &[
    (0x20, "gfx600", false, false),
    (0x21, "gfx601", false, false),
    (0x22, "gfx700", false, false),
    (0x23, "gfx701", false, false),
    (0x24, "gfx702", false, false),
    (0x25, "gfx703", false, false),
    (0x26, "gfx704", false, false),
    (0x28, "gfx801", false, true),
    (0x29, "gfx802", false, false),
    (0x2a, "gfx803", false, false),
    (0x2b, "gfx810", false, true),
    (0x2c, "gfx900", false, true),
    (0x2d, "gfx902", false, true),
    (0x2e, "gfx904", false, true),
    (0x2f, "gfx906", true, true),
    (0x30, "gfx908", true, true),
    (0x31, "gfx909", false, true),
    (0x32, "gfx90c", false, true),
    (0x33, "gfx1010", false, true),
    (0x34, "gfx1011", false, true),
    (0x35, "gfx1012", false, true),
    (0x36, "gfx1030", false, false),
    (0x37, "gfx1031", false, false),
    (0x38, "gfx1032", false, false),
    (0x39, "gfx1033", false, false),
    (0x3a, "gfx602", false, false),
    (0x3b, "gfx705", false, false),
    (0x3c, "gfx805", false, false),
    (0x3d, "gfx1035", false, false),
    (0x3e, "gfx1034", false, false),
    (0x3f, "gfx90a", true, true),
    (0x40, "gfx940", true, true),
    (0x41, "gfx1100", false, false),
    (0x42, "gfx1013", false, true),
    (0x43, "gfx1150", false, false),
    (0x44, "gfx1103", false, false),
    (0x45, "gfx1036", false, false),
    (0x46, "gfx1101", false, false),
    (0x47, "gfx1102", false, false),
    (0x48, "gfx1200", false, false),
    (0x49, "gfx1250", true, true),
    (0x4a, "gfx1151", false, false),
    (0x4b, "gfx941", true, true),
    (0x4c, "gfx942", true, true),
    (0x4e, "gfx1201", false, false),
    (0x4f, "gfx950", true, true),
    (0x50, "gfx1310", false, false),
    (0x51, "gfx9-generic", false, true),
    (0x52, "gfx10-1-generic", false, true),
    (0x53, "gfx10-3-generic", false, false),
    (0x54, "gfx11-generic", false, false),
    (0x55, "gfx1152", false, false),
    (0x58, "gfx1153", false, false),
    (0x59, "gfx12-generic", false, false),
    (0x5a, "gfx1251", true, true),
    (0x5b, "gfx12-5-generic", true, true),
    (0x5c, "gfx1172", false, false),
    (0x5d, "gfx1170", false, false),
    (0x5e, "gfx1171", false, false),
    (0x5f, "gfx9-4-generic", true, true),
];

/// Generic processors and those that run their code: LLVM AMDGPU usage, "AMDGPU Generic Processors".
const GENERIC: &[(&str, &[&str])] = &[
    ("gfx9-generic", &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"]),
    ("gfx9-4-generic", &["gfx940", "gfx941", "gfx942", "gfx950"]),
    ("gfx10-1-generic", &["gfx1010", "gfx1011", "gfx1012", "gfx1013"]),
    ("gfx10-3-generic", &["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"]),
    (
        "gfx11-generic",
        &["gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"],
    ),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
    ("gfx12-5-generic", &["gfx1250", "gfx1251"]),
];

/// Returns the processors that run code for a generic one; `None` if it isn't generic.
pub(crate) fn covered_by(generic: &str) -> Option<&'static [&'static str]> {
    GENERIC.iter().find(|(name, _)| *name == generic).map(|(_, of)| *of)
}

/// An AMD GPU processor. Two are equal when their names are.
#[derive(Debug, Clone)]
pub enum Processor {
    /// MI200 (CDNA 2).
    Gfx90a,
    /// MI300 (CDNA 3).
    Gfx942,
    /// MI350 (CDNA 4).
    Gfx950,
    /// Any other.
    Other {
        /// LLVM's name of it, such as `gfx1100`.
        name: String,
        /// Its number in the low byte of `e_flags`, 0 if it is not known.
        mach: u8,
    },
}

impl Processor {
    /// Returns LLVM's name, such as `gfx90a`.
    pub fn name(&self) -> &str {
        match self {
            Processor::Gfx90a => "gfx90a",
            Processor::Gfx942 => "gfx942",
            Processor::Gfx950 => "gfx950",
            Processor::Other { name, .. } => name,
        }
    }

    /// The number in the low byte of `e_flags` (`EF_AMDGPU_MACH`), 0 if it is not known.
    pub fn mach(&self) -> u8 {
        match self {
            Processor::Gfx90a => 0x3f,
            Processor::Gfx942 => 0x4c,
            Processor::Gfx950 => 0x4f,
            Processor::Other { mach, .. } => *mach,
        }
    }

    /// Returns the major version, the minor one and the stepping of which its name consists: 9, 0 and 10 for gfx90a, 11, 5 and 1
    /// for gfx1151. `None` for generic processors, and for names that are no such number.
    pub fn version(&self) -> Option<(u32, u32, u32)> {
        let digits =
            self.name().strip_prefix("gfx").filter(|digits| digits.is_ascii() && digits.len() >= 3)?;
        let (major, rest) = digits.split_at(digits.len() - 2);
        let (minor, stepping) = rest.split_at(1);
        let hex = |text| u32::from_str_radix(text, 16).ok();
        Some((major.parse().ok()?, hex(minor)?, hex(stepping)?))
    }

    /// The processor of that name. An unknown name gives one with the number 0.
    fn from_name(name: &str) -> Processor {
        match name {
            "gfx90a" => Processor::Gfx90a,
            "gfx942" => Processor::Gfx942,
            "gfx950" => Processor::Gfx950,
            _ => {
                let mach = PROCESSORS.iter().find(|p| p.1 == name).map_or(0, |p| p.0);
                Processor::Other { name: name.to_owned(), mach }
            }
        }
    }

    /// The processor of that number; one that this table doesn't know is called `gfx-mach-0x..`.
    fn from_mach(mach: u8) -> Processor {
        match PROCESSORS.iter().find(|p| p.0 == mach) {
            Some(p) => Processor::from_name(p.1),
            None => Processor::Other { name: format!("gfx-mach-{mach:#04x}"), mach },
        }
    }

    /// Returns whether the table has it.
    pub(crate) fn is_known(&self) -> bool {
        PROCESSORS.iter().any(|p| p.1 == self.name())
    }

    /// Whether it has a sramecc and an xnack setting. Unknown ones are taken to have both.
    fn features(&self) -> (bool, bool) {
        PROCESSORS.iter().find(|p| p.1 == self.name()).map_or((true, true), |p| (p.2, p.3))
    }

    /// Whether code for `self` runs on `device`: the same processor, or a generic one that covers it.
    fn runs_on(&self, device: &Processor) -> bool {
        self == device || GENERIC.iter().any(|(name, of)| *name == self.name() && of.contains(&device.name()))
    }

    /// Returns whether code for it runs on a family of processors, as code for `gfx9-4-generic` does.
    pub fn is_generic(&self) -> bool {
        self.name().ends_with("-generic")
    }
}

impl PartialEq for Processor {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for Processor {}

impl Hash for Processor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The setting of a target feature (xnack: page faults can be retried; sramecc: memory is error-corrected).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FeatureSetting {
    /// The processor has no such feature.
    Unsupported,
    /// Not specified: such code runs with either setting.
    Any,
    /// `-`: off.
    Off,
    /// `+`: on.
    On,
}

impl FeatureSetting {
    /// Whether it is `+` or `-`.
    pub fn is_specified(self) -> bool {
        matches!(self, FeatureSetting::Off | FeatureSetting::On)
    }

    /// Returns `default` if the setting is not specified, else this one. What the processor doesn't have stays unsupported.
    #[must_use]
    pub fn or(self, default: FeatureSetting) -> FeatureSetting {
        if self == FeatureSetting::Any { default } else { self }
    }

    /// The two bits of `e_flags` that hold it.
    fn from_bits(bits: u32) -> FeatureSetting {
        match bits & 3 {
            0 => FeatureSetting::Unsupported,
            1 => FeatureSetting::Any,
            2 => FeatureSetting::Off,
            _ => FeatureSetting::On,
        }
    }

    /// Returns the setting if none is written.
    fn unspecified(supported: bool) -> FeatureSetting {
        if supported { FeatureSetting::Any } else { FeatureSetting::Unsupported }
    }

    /// Whether code with this setting runs on a device with that one.
    fn runs_on(self, device: FeatureSetting) -> bool {
        !self.is_specified() || self == device
    }
}

/// What a code object is compiled for, or what a device is: a processor and its feature settings.
///
/// Written `gfx90a:sramecc+:xnack-`, or in full `amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-`; both are read, and
/// a feature that is not mentioned is [`FeatureSetting::Any`] if the processor has it. Of other triples, too, only the
/// processor and its settings count: old ones, such as `amdgcn--amdhsa-amdgiz-gfx942:xnack-`, which XLA writes, and those of
/// LLVM 24, which name the processor once more, or alone: `amdgpu9.0a-amd-amdhsa-unknown-gfx90a` and
/// `amdgpu9.0a-amd-amdhsa--` (LLVM AMDGPU usage, "Target Triples" and "Subarchitecture Compatibility").
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TargetId {
    /// The processor.
    pub processor: Processor,
    /// Retry of page faults.
    pub xnack: FeatureSetting,
    /// Error correction of the on-chip memories.
    pub sramecc: FeatureSetting,
}

impl TargetId {
    /// A processor with no setting specified.
    pub fn new(processor: Processor) -> TargetId {
        let (sramecc, xnack) = processor.features();
        TargetId {
            processor,
            xnack: FeatureSetting::unspecified(xnack),
            sramecc: FeatureSetting::unspecified(sramecc),
        }
    }

    /// The target in the `e_flags` of a code object v4 or later (LLVM AMDGPU usage, "AMDGPU ELF Header e_flags
    /// for Code Object V4 and After").
    pub fn from_e_flags(flags: u32) -> TargetId {
        TargetId {
            processor: Processor::from_mach(flags as u8),
            xnack: FeatureSetting::from_bits(flags >> 8),
            sramecc: FeatureSetting::from_bits(flags >> 10),
        }
    }

    /// Whether code for this target runs on `device`: the processor is the same or a generic one that covers it,
    /// and a setting that is specified here is the device's. A device with an unspecified setting runs only code
    /// that leaves it unspecified too.
    pub fn is_compatible_with(&self, device: &TargetId) -> bool {
        self.processor.runs_on(&device.processor)
            && self.xnack.runs_on(device.xnack)
            && self.sramecc.runs_on(device.sramecc)
    }

    /// Returns how closely the target matches a device that it is compatible with; greater is closer.
    pub(crate) fn specificity(&self) -> u32 {
        u32::from(!self.processor.is_generic()) * 4
            + u32::from(self.xnack.is_specified())
            + u32::from(self.sramecc.is_specified())
    }

    /// The short form, such as `gfx90a:sramecc+:xnack-`. The alternate form of `Display`, `{:#}`, is the same.
    pub fn short(&self) -> String {
        format!("{self:#}")
    }
}

impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            write!(f, "{TRIPLE}--")?;
        }
        f.write_str(self.processor.name())?;
        // Features come in alphabetic order: LLVM AMDGPU usage, "Target ID".
        for (name, setting) in [("sramecc", self.sramecc), ("xnack", self.xnack)] {
            match setting {
                FeatureSetting::On => write!(f, ":{name}+")?,
                FeatureSetting::Off => write!(f, ":{name}-")?,
                FeatureSetting::Any | FeatureSetting::Unsupported => {}
            }
        }
        Ok(())
    }
}

impl FromStr for TargetId {
    type Err = Error;

    fn from_str(text: &str) -> Result<TargetId, Error> {
        let bad = || Error::BadTargetId { text: text.chars().take(256).collect() };
        let mut id = text;
        let of_subarch;
        if let Some((subarch, rest)) = split_triple(text) {
            // Then `--gfx..`, or `-gfx..` (bundles before v4), or `-unknown-gfx..` (newer LLVM).
            let rest = rest.strip_prefix('-').ok_or_else(bad)?;
            id = if rest.starts_with("gfx") { rest } else { rest.split_once('-').ok_or_else(bad)?.1 };
            if id.is_empty() {
                of_subarch = processor_of_subarch(subarch).ok_or_else(bad)?;
                id = &of_subarch;
            }
        }
        let mut parts = id.split(':');
        let name = parts.next().unwrap_or_default();
        let plain = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        if !name.starts_with("gfx") || name.len() == 3 || name.len() > 32 || !plain {
            return Err(bad());
        }
        let mut target = TargetId::new(Processor::from_name(name));
        for part in parts {
            let (feature, setting) = match (part.strip_suffix('+'), part.strip_suffix('-')) {
                (Some(feature), _) => (feature, FeatureSetting::On),
                (_, Some(feature)) => (feature, FeatureSetting::Off),
                _ => return Err(bad()),
            };
            let slot = match feature {
                "xnack" => &mut target.xnack,
                "sramecc" => &mut target.sramecc,
                _ => return Err(bad()),
            };
            // The processor does not support the feature, or it is given twice.
            if *slot != FeatureSetting::Any {
                return Err(bad());
            }
            *slot = setting;
        }
        Ok(target)
    }
}

/// Splits a triple: returns the part of its architecture after the name, such as `9.0a` of `amdgpu9.0a-amd-amdhsa`, and
/// the text after the triple. Returns `None` if the text doesn't begin with a triple.
fn split_triple(text: &str) -> Option<(&str, &str)> {
    let (arch, rest) = text.split_once('-')?;
    let (vendor, rest) = rest.split_once('-')?;
    let rest = rest.strip_prefix(OS).filter(|_| VENDORS.contains(&vendor))?;
    let subarch = if arch == "amdgcn" { "" } else { arch.strip_prefix("amdgpu")? };
    Some((subarch, rest))
}

/// Returns the processor of a triple's subarchitecture: `9.0a` is gfx90a, `9.4` gfx9-4-generic, `9` gfx9-generic.
fn processor_of_subarch(subarch: &str) -> Option<String> {
    let name = match subarch.split_once('.') {
        Some((major, minor)) if minor.len() > 1 => format!("gfx{major}{minor}"),
        Some((major, minor)) => format!("gfx{major}-{minor}-generic"),
        None => format!("gfx{subarch}-generic"),
    };
    Processor::from_name(&name).is_known().then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> TargetId {
        text.parse().unwrap()
    }

    #[test]
    fn a_name_consists_of_the_version() {
        for (name, version) in [
            ("gfx90a", Some((9, 0, 10))),
            ("gfx942", Some((9, 4, 2))),
            ("gfx950", Some((9, 5, 0))),
            ("gfx1103", Some((11, 0, 3))),
            ("gfx1151", Some((11, 5, 1))),
            ("gfx9-4-generic", None),
            ("gfx11-generic", None),
            ("gfx11", None),
            ("gfx-mach-0x77", None),
        ] {
            assert_eq!(Processor::from_name(name).version(), version, "{name}");
        }
    }

    #[test]
    fn text_forms() {
        for (text, short) in [
            ("gfx90a", "gfx90a"),
            ("gfx90a:xnack-", "gfx90a:xnack-"),
            ("gfx90a:xnack+:sramecc-", "gfx90a:sramecc-:xnack+"),
            ("amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
            ("amdgcn-amd-amdhsa-unknown-gfx942", "gfx942"),
            ("amdgcn-amd-amdhsa-gfx906", "gfx906"),
            ("amdgcn-amd-amdhsa--gfx9-4-generic:xnack+", "gfx9-4-generic:xnack+"),
            ("gfx9999:xnack+", "gfx9999:xnack+"),
            // Other vendors and environments: XLA's, and those of early LLVM.
            ("amdgcn--amdhsa-amdgiz-gfx942:sramecc+:xnack-", "gfx942:sramecc+:xnack-"),
            ("amdgcn-unknown-amdhsa-amdgiz-gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
            ("amdgcn--amdhsa--gfx90a", "gfx90a"),
            ("amdgcn-amd-amdhsa-opencl-gfx9-4-generic:xnack+", "gfx9-4-generic:xnack+"),
            // As LLVM 24 writes them.
            ("amdgpu9.42-amd-amdhsa-unknown-gfx942", "gfx942"),
            ("amdgpu9.0a-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"),
            ("amdgpu-amd-amdhsa--gfx90c", "gfx90c"),
            ("amdgpu9.4-amd-amdhsa-unknown-gfx950", "gfx950"),
            ("amdgpu9.42-amd-amdhsa--", "gfx942"),
            ("amdgpu10.30-amd-amdhsa--", "gfx1030"),
            ("amdgpu9.4-amd-amdhsa--", "gfx9-4-generic"),
            ("amdgpu9-amd-amdhsa--", "gfx9-generic"),
        ] {
            let target = target(text);
            assert_eq!(target.short(), short);
            assert_eq!(target.to_string(), format!("amdgcn-amd-amdhsa--{short}"));
            assert_eq!(target.to_string().parse(), Ok(target.clone()));
            assert_eq!(target.short().parse(), Ok(target));
        }
        for text in [
            "",
            "gfx",
            "GFX90A",
            "gfx90a ",
            "gfx90a:",
            "gfx90a:xnack",
            "gfx90a:cumode+",
            "gfx90a:xnack+:xnack+",
            "gfx1030:xnack+",
            "gfx1100:sramecc-",
            "sm_90",
            "amdgcn-amd-amdhsa",
            "amdgcn-amd-amdhsa-",
            "amdgcn-amd-amdhsa--",
            "amdgcn-amd-amdhsa---gfx90a",
            "amdgcn9.42-amd-amdhsa--gfx942",
            "amdgpu-amd-amdhsa--",
            "amdgpu9.99-amd-amdhsa--",
            "amdgpu9.4.2-amd-amdhsa--",
            "amdgpu9.42-amd-amdhsa",
            "amdgpu9.42-amd-amdpal--gfx942",
            "amdgcn-nvidia-amdhsa--gfx90a",
            "amdgcn--amdpal--gfx90a",
            "amdgcn--amdhsa-amdgiz",
            "x86_64-unknown-linux",
        ] {
            let error = text.parse::<TargetId>().unwrap_err();
            assert_eq!(error, Error::BadTargetId { text: text.into() });
        }
    }

    #[test]
    fn unspecified_features() {
        let settings = |text| (target(text).sramecc, target(text).xnack);
        assert_eq!(settings("gfx90a"), (FeatureSetting::Any, FeatureSetting::Any));
        assert_eq!(settings("gfx900"), (FeatureSetting::Unsupported, FeatureSetting::Any));
        assert_eq!(settings("gfx1100"), (FeatureSetting::Unsupported, FeatureSetting::Unsupported));
    }

    #[test]
    fn flags_of_the_header() {
        for (flags, text) in [
            (0x53f, "gfx90a"),
            (0x73f, "gfx90a:xnack+"),
            (0xe3f, "gfx90a:sramecc+:xnack-"),
            (0x94c, "gfx942:sramecc-"),
            (0x036, "gfx1030"),
            (0x0100_055f, "gfx9-4-generic"),
        ] {
            assert_eq!(TargetId::from_e_flags(flags), target(text), "{flags:#x}");
        }
        let unknown = TargetId::from_e_flags(0xff);
        assert_eq!((unknown.processor.name(), unknown.processor.mach()), ("gfx-mach-0xff", 0xff));
        assert!(!unknown.processor.is_known());
    }

    #[test]
    fn numbers_and_names_are_unique() {
        for (i, p) in PROCESSORS.iter().enumerate() {
            assert!(PROCESSORS[..i].iter().all(|q| q.0 < p.0 && q.1 != p.1), "{}", p.1);
            let processor = Processor::from_mach(p.0);
            assert_eq!((processor.name(), processor.mach()), (p.1, p.0));
        }
        for (generic, members) in GENERIC {
            for name in members.iter().chain([generic]) {
                assert!(Processor::from_name(name).is_known(), "{name}");
            }
        }
    }

    #[test]
    fn compatibility() {
        let runs = |code, device| target(code).is_compatible_with(&target(device));
        for device in ["gfx90a", "gfx90a:xnack-", "gfx90a:xnack+", "gfx90a:sramecc+:xnack-"] {
            assert!(runs("gfx90a", device));
        }
        assert!(runs("gfx90a:xnack-", "gfx90a:sramecc+:xnack-"));
        assert!(!runs("gfx90a:xnack+", "gfx90a:sramecc+:xnack-"));
        assert!(!runs("gfx90a:sramecc-", "gfx90a:sramecc+:xnack-"));
        assert!(!runs("gfx90a:xnack-", "gfx90a"));
        assert!(!runs("gfx90a", "gfx942"));
        assert!(runs("gfx9-4-generic", "gfx942:xnack+"));
        assert!(!runs("gfx9-4-generic:xnack-", "gfx942:xnack+"));
        assert!(!runs("gfx942", "gfx9-4-generic"));
        assert!(!runs("gfx9-generic", "gfx90a"));
    }
}
