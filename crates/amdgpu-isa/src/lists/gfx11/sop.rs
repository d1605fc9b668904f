//! SOP1, SOP2, SOPK, SOPC, SOPP on gfx11.

/// Passes the instructions of SOP1 on gfx11 to a macro.
macro_rules! sop1 {
    ($make:ident) => {
        $make! {
            Sop1:
        }
    };
}

/// Passes the instructions of SOP2 on gfx11 to a macro.
macro_rules! sop2 {
    ($make:ident) => {
        $make! {
            Sop2:
        }
    };
}

/// Passes the instructions of SOPK on gfx11 to a macro.
macro_rules! sopk {
    ($make:ident) => {
        $make! {
            Sopk:
        }
    };
}

/// Passes the instructions of SOPC on gfx11 to a macro.
macro_rules! sopc {
    ($make:ident) => {
        $make! {
            Sopc:
        }
    };
}

/// Passes the instructions of SOPP on gfx11 to a macro.
macro_rules! sopp {
    ($make:ident) => {
        $make! {
            Sopp:
            s_endpgm 48 48 = Sopp s_endpgm;
        }
    };
}

pub(crate) use {sop1, sop2, sopc, sopk, sopp};
