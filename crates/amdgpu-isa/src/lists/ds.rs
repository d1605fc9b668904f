//! DS instructions. The sources are the address, data0 and data1.

/// Passes the instructions of DS to a macro.
macro_rules! ds {
    ($make:ident) => {
        $make! {
            /// The mnemonics of DS: LDS, moves between lanes, and global wave sync.
            Ds:
            ds_add_u32 0 0 0 Z, [B32, B32, Z], ATOMIC | M4;
            ds_sub_u32 1 1 1 Z, [B32, B32, Z], ATOMIC | M4;
            ds_rsub_u32 2 2 2 Z, [B32, B32, Z], ATOMIC | M4;
            ds_inc_u32 3 3 3 Z, [B32, B32, Z], ATOMIC | M4;
            ds_dec_u32 4 4 4 Z, [B32, B32, Z], ATOMIC | M4;
            ds_min_i32 5 5 5 Z, [B32, B32, Z], ATOMIC | M4;
            ds_max_i32 6 6 6 Z, [B32, B32, Z], ATOMIC | M4;
            ds_min_u32 7 7 7 Z, [B32, B32, Z], ATOMIC | M4;
            ds_max_u32 8 8 8 Z, [B32, B32, Z], ATOMIC | M4;
            ds_and_b32 9 9 9 Z, [B32, B32, Z], ATOMIC | M4;
            ds_or_b32 10 10 10 Z, [B32, B32, Z], ATOMIC | M4;
            ds_xor_b32 11 11 11 Z, [B32, B32, Z], ATOMIC | M4;
            ds_mskor_b32 12 12 12 Z, [B32, B32, B32], ATOMIC | M4;
            ds_write_b32 13 13 13 Z, [B32, B32, Z], STORE | M4;
            ds_write2_b32 14 14 14 Z, [B32, B32, B32], STORE | TWO | M4;
            ds_write2st64_b32 15 15 15 Z, [B32, B32, B32], STORE | TWO | ST64 | M4;
            ds_cmpst_b32 16 16 16 Z, [B32, B32, B32], ATOMIC | COMPARE | M4;
            ds_cmpst_f32 17 17 17 Z, [B32, B32, B32], ATOMIC | COMPARE | M4;
            ds_min_f32 18 18 18 Z, [B32, B32, Z], ATOMIC | M4;
            ds_max_f32 19 19 19 Z, [B32, B32, Z], ATOMIC | M4;
            ds_nop 20 20 20 Z, [Z, Z, Z], 0;
            ds_add_f32 21 21 21 Z, [B32, B32, Z], ATOMIC | M4;
            ds_pk_add_f16 -1 23 23 Z, [B32, B32, Z], ATOMIC | M4;
            ds_pk_add_bf16 -1 24 24 Z, [B32, B32, Z], ATOMIC | M4;
            ds_write_addtid_b32 29 29 29 Z, [Z, B32, Z], M0_IN | STORE | BY_LANE | M4;
            ds_write_b8 30 30 30 Z, [B32, B32, Z], STORE | M1;
            ds_write_b16 31 31 31 Z, [B32, B32, Z], STORE | M2;
            ds_add_rtn_u32 32 32 32 B32, [B32, B32, Z], ATOMIC | M4;
            ds_sub_rtn_u32 33 33 33 B32, [B32, B32, Z], ATOMIC | M4;
            ds_rsub_rtn_u32 34 34 34 B32, [B32, B32, Z], ATOMIC | M4;
            ds_inc_rtn_u32 35 35 35 B32, [B32, B32, Z], ATOMIC | M4;
            ds_dec_rtn_u32 36 36 36 B32, [B32, B32, Z], ATOMIC | M4;
            ds_min_rtn_i32 37 37 37 B32, [B32, B32, Z], ATOMIC | M4;
            ds_max_rtn_i32 38 38 38 B32, [B32, B32, Z], ATOMIC | M4;
            ds_min_rtn_u32 39 39 39 B32, [B32, B32, Z], ATOMIC | M4;
            ds_max_rtn_u32 40 40 40 B32, [B32, B32, Z], ATOMIC | M4;
            ds_and_rtn_b32 41 41 41 B32, [B32, B32, Z], ATOMIC | M4;
            ds_or_rtn_b32 42 42 42 B32, [B32, B32, Z], ATOMIC | M4;
            ds_xor_rtn_b32 43 43 43 B32, [B32, B32, Z], ATOMIC | M4;
            ds_mskor_rtn_b32 44 44 44 B32, [B32, B32, B32], ATOMIC | M4;
            ds_wrxchg_rtn_b32 45 45 45 B32, [B32, B32, Z], ATOMIC | M4;
            ds_wrxchg2_rtn_b32 46 46 46 B64, [B32, B32, B32], ATOMIC | TWO | M4;
            ds_wrxchg2st64_rtn_b32 47 47 47 B64, [B32, B32, B32], ATOMIC | TWO | ST64 | M4;
            ds_cmpst_rtn_b32 48 48 48 B32, [B32, B32, B32], ATOMIC | COMPARE | M4;
            ds_cmpst_rtn_f32 49 49 49 B32, [B32, B32, B32], ATOMIC | COMPARE | M4;
            ds_min_rtn_f32 50 50 50 B32, [B32, B32, Z], ATOMIC | M4;
            ds_max_rtn_f32 51 51 51 B32, [B32, B32, Z], ATOMIC | M4;
            ds_wrap_rtn_b32 52 52 52 B32, [B32, B32, B32], ATOMIC | M4;
            ds_add_rtn_f32 53 53 53 B32, [B32, B32, Z], ATOMIC | M4;
            ds_read_b32 54 54 54 B32, [B32, Z, Z], LOAD | M4;
            ds_read2_b32 55 55 55 B64, [B32, Z, Z], LOAD | TWO | M4;
            ds_read2st64_b32 56 56 56 B64, [B32, Z, Z], LOAD | TWO | ST64 | M4;
            ds_read_i8 57 57 57 B32, [B32, Z, Z], LOAD | SIGNED | M1;
            ds_read_u8 58 58 58 B32, [B32, Z, Z], LOAD | M1;
            ds_read_i16 59 59 59 B32, [B32, Z, Z], LOAD | SIGNED | M2;
            ds_read_u16 60 60 60 B32, [B32, Z, Z], LOAD | M2;
            ds_swizzle_b32 61 61 61 B32, [B32, Z, Z], EXCHANGE;
            ds_permute_b32 62 62 62 B32, [B32, B32, Z], EXCHANGE;
            ds_bpermute_b32 63 63 63 B32, [B32, B32, Z], EXCHANGE;
            ds_add_u64 64 64 64 Z, [B32, B64, Z], ATOMIC | M8;
            ds_sub_u64 65 65 65 Z, [B32, B64, Z], ATOMIC | M8;
            ds_rsub_u64 66 66 66 Z, [B32, B64, Z], ATOMIC | M8;
            ds_inc_u64 67 67 67 Z, [B32, B64, Z], ATOMIC | M8;
            ds_dec_u64 68 68 68 Z, [B32, B64, Z], ATOMIC | M8;
            ds_min_i64 69 69 69 Z, [B32, B64, Z], ATOMIC | M8;
            ds_max_i64 70 70 70 Z, [B32, B64, Z], ATOMIC | M8;
            ds_min_u64 71 71 71 Z, [B32, B64, Z], ATOMIC | M8;
            ds_max_u64 72 72 72 Z, [B32, B64, Z], ATOMIC | M8;
            ds_and_b64 73 73 73 Z, [B32, B64, Z], ATOMIC | M8;
            ds_or_b64 74 74 74 Z, [B32, B64, Z], ATOMIC | M8;
            ds_xor_b64 75 75 75 Z, [B32, B64, Z], ATOMIC | M8;
            ds_mskor_b64 76 76 76 Z, [B32, B64, B64], ATOMIC | M8;
            ds_write_b64 77 77 77 Z, [B32, B64, Z], STORE | M8;
            ds_write2_b64 78 78 78 Z, [B32, B64, B64], STORE | TWO | M8;
            ds_write2st64_b64 79 79 79 Z, [B32, B64, B64], STORE | TWO | ST64 | M8;
            ds_cmpst_b64 80 80 80 Z, [B32, B64, B64], ATOMIC | COMPARE | M8;
            ds_cmpst_f64 81 81 81 Z, [B32, B64, B64], ATOMIC | COMPARE | M8;
            ds_min_f64 82 82 82 Z, [B32, B64, Z], ATOMIC | M8;
            ds_max_f64 83 83 83 Z, [B32, B64, Z], ATOMIC | M8;
            ds_write_b8_d16_hi 84 84 84 Z, [B32, B32, Z], STORE | D16 | HIGH | M1;
            ds_write_b16_d16_hi 85 85 85 Z, [B32, B32, Z], STORE | D16 | HIGH | M2;
            ds_read_u8_d16 86 86 86 B32, [B32, Z, Z], LOAD | D16 | HALF | M1;
            ds_read_u8_d16_hi 87 87 87 B32, [B32, Z, Z], LOAD | D16 | HIGH | HALF | M1;
            ds_read_i8_d16 88 88 88 B32, [B32, Z, Z], LOAD | D16 | HALF | SIGNED | M1;
            ds_read_i8_d16_hi 89 89 89 B32, [B32, Z, Z], LOAD | D16 | HIGH | HALF | SIGNED | M1;
            ds_read_u16_d16 90 90 90 B32, [B32, Z, Z], LOAD | D16 | HALF | M2;
            ds_read_u16_d16_hi 91 91 91 B32, [B32, Z, Z], LOAD | D16 | HIGH | HALF | M2;
            ds_add_f64 92 92 92 Z, [B32, B64, Z], ATOMIC | M8;
            ds_add_rtn_u64 96 96 96 B64, [B32, B64, Z], ATOMIC | M8;
            ds_sub_rtn_u64 97 97 97 B64, [B32, B64, Z], ATOMIC | M8;
            ds_rsub_rtn_u64 98 98 98 B64, [B32, B64, Z], ATOMIC | M8;
            ds_inc_rtn_u64 99 99 99 B64, [B32, B64, Z], ATOMIC | M8;
            ds_dec_rtn_u64 100 100 100 B64, [B32, B64, Z], ATOMIC | M8;
            ds_min_rtn_i64 101 101 101 B64, [B32, B64, Z], ATOMIC | M8;
            ds_max_rtn_i64 102 102 102 B64, [B32, B64, Z], ATOMIC | M8;
            ds_min_rtn_u64 103 103 103 B64, [B32, B64, Z], ATOMIC | M8;
            ds_max_rtn_u64 104 104 104 B64, [B32, B64, Z], ATOMIC | M8;
            ds_and_rtn_b64 105 105 105 B64, [B32, B64, Z], ATOMIC | M8;
            ds_or_rtn_b64 106 106 106 B64, [B32, B64, Z], ATOMIC | M8;
            ds_xor_rtn_b64 107 107 107 B64, [B32, B64, Z], ATOMIC | M8;
            ds_mskor_rtn_b64 108 108 108 B64, [B32, B64, B64], ATOMIC | M8;
            ds_wrxchg_rtn_b64 109 109 109 B64, [B32, B64, Z], ATOMIC | M8;
            ds_wrxchg2_rtn_b64 110 110 110 W(4), [B32, B64, B64], ATOMIC | TWO | M8;
            ds_wrxchg2st64_rtn_b64 111 111 111 W(4), [B32, B64, B64], ATOMIC | TWO | ST64 | M8;
            ds_cmpst_rtn_b64 112 112 112 B64, [B32, B64, B64], ATOMIC | COMPARE | M8;
            ds_cmpst_rtn_f64 113 113 113 B64, [B32, B64, B64], ATOMIC | COMPARE | M8;
            ds_min_rtn_f64 114 114 114 B64, [B32, B64, Z], ATOMIC | M8;
            ds_max_rtn_f64 115 115 115 B64, [B32, B64, Z], ATOMIC | M8;
            ds_read_b64 118 118 118 B64, [B32, Z, Z], LOAD | M8;
            ds_read2_b64 119 119 119 W(4), [B32, Z, Z], LOAD | TWO | M8;
            ds_read2st64_b64 120 120 120 W(4), [B32, Z, Z], LOAD | TWO | ST64 | M8;
            ds_add_rtn_f64 124 124 124 B64, [B32, B64, Z], ATOMIC | M8;
            ds_condxchg32_rtn_b64 126 126 126 B64, [B32, B64, Z], ATOMIC | M8;
            ds_gws_sema_release_all 152 152 152 Z, [Z, Z, Z], M0_IN | GWS;
            ds_gws_init 153 153 153 Z, [B32, Z, Z], M0_IN | GWS;
            ds_gws_sema_v 154 154 154 Z, [Z, Z, Z], M0_IN | GWS;
            ds_gws_sema_br 155 155 155 Z, [B32, Z, Z], M0_IN | GWS;
            ds_gws_sema_p 156 156 156 Z, [Z, Z, Z], M0_IN | GWS;
            ds_gws_barrier 157 157 157 Z, [B32, Z, Z], M0_IN | GWS;
            ds_read_addtid_b32 182 182 182 B32, [Z, Z, Z], M0_IN | LOAD | BY_LANE | M4;
            ds_pk_add_rtn_f16 -1 183 183 B32, [B32, B32, Z], ATOMIC | M4;
            ds_pk_add_rtn_bf16 -1 184 184 B32, [B32, B32, Z], ATOMIC | M4;
            ds_consume 189 189 189 B32, [Z, Z, Z], ATOMIC | COUNT | M4;
            ds_append 190 190 190 B32, [Z, Z, Z], ATOMIC | COUNT | M4;
            ds_write_b96 222 222 222 Z, [B32, W(3), Z], STORE | M12;
            ds_write_b128 223 223 223 Z, [B32, W(4), Z], STORE | M16;
            ds_read_b64_tr_b4 -1 -1 224 B64, [B32, Z, Z], LOAD | M8;
            ds_read_b96_tr_b6 -1 -1 225 W(3), [B32, Z, Z], LOAD | M12;
            ds_read_b64_tr_b8 -1 -1 226 B64, [B32, Z, Z], LOAD | M8;
            ds_read_b64_tr_b16 -1 -1 227 B64, [B32, Z, Z], LOAD | M8;
            ds_read_b96 254 254 254 W(3), [B32, Z, Z], LOAD | M12;
            ds_read_b128 255 255 255 W(4), [B32, Z, Z], LOAD | M16;
            // Operations that no target of gfx9's encodings has, under their names on RDNA.
            // data0 is stored and data1 is compared. It is the reverse in `ds_cmpst_b32` and its like.
            ds_cmpstore_b32 -1 -1 -1 Z, [B32, B32, B32], ATOMIC | COMPARE | M4;
            ds_cmpstore_f32 -1 -1 -1 Z, [B32, B32, B32], ATOMIC | COMPARE | M4;
            ds_cmpstore_rtn_b32 -1 -1 -1 B32, [B32, B32, B32], ATOMIC | COMPARE | M4;
            ds_cmpstore_rtn_f32 -1 -1 -1 B32, [B32, B32, B32], ATOMIC | COMPARE | M4;
            // This, `ds_add_gs_reg_rtn` and `ds_sub_gs_reg_rtn` are only for GDS.
            ds_ordered_count -1 -1 -1 B32, [B32, Z, Z], M0_IN;
            ds_cmpstore_b64 -1 -1 -1 Z, [B32, B64, B64], ATOMIC | COMPARE | M8;
            ds_cmpstore_f64 -1 -1 -1 Z, [B32, B64, B64], ATOMIC | COMPARE | M8;
            ds_cmpstore_rtn_b64 -1 -1 -1 B64, [B32, B64, B64], ATOMIC | COMPARE | M8;
            ds_cmpstore_rtn_f64 -1 -1 -1 B64, [B32, B64, B64], ATOMIC | COMPARE | M8;
            ds_add_gs_reg_rtn -1 -1 -1 B64, [Z, B32, Z], 0;
            ds_sub_gs_reg_rtn -1 -1 -1 B64, [Z, B32, Z], 0;
            // It subtracts unless the result would be negative.
            ds_cond_sub_u32 -1 -1 -1 Z, [B32, B32, Z], ATOMIC | M4;
            // It subtracts, and stores zero if the result would be negative.
            ds_sub_clamp_u32 -1 -1 -1 Z, [B32, B32, Z], ATOMIC | M4;
            ds_cond_sub_rtn_u32 -1 -1 -1 B32, [B32, B32, Z], ATOMIC | M4;
            ds_sub_clamp_rtn_u32 -1 -1 -1 B32, [B32, B32, Z], ATOMIC | M4;
            // It also reads inactive lanes.
            ds_bpermute_fi_b32 -1 -1 -1 B32, [B32, B32, Z], EXCHANGE;
        }
    };
}

pub(crate) use ds;
