//! Enumerations of kinds, each with a name: of calls, of groups of calls, of notes.

/// Defines an enumeration of kinds, from rows of a variant and its name.
macro_rules! kinds {
    ($(#[$meta:meta])* pub enum $Kind:ident { $($(#[$doc:meta])* $variant:ident = $name:literal;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        #[non_exhaustive]
        pub enum $Kind {
            $(#[doc = concat!("`", $name, "`.")] #[doc = ""] $(#[$doc])* $variant,)*
        }

        impl $Kind {
            /// All kinds, in the order of their numbers.
            pub const ALL: &'static [$Kind] = &[$($Kind::$variant,)*];

            /// Returns the name: HIP's, where HIP has one.
            pub const fn name(self) -> &'static str {
                match self {
                    $($Kind::$variant => $name,)*
                }
            }
        }

        impl std::fmt::Display for $Kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
