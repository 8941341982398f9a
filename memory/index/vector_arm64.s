#include "textflag.h"

// func dotNEON(q *int16, rows *int8, n, stride int, out *int32)
// Each turn widens 16 numbers of a row to 16 bits and adds their products with q's in four sums of 32 bits.
// The assembler knows neither SXTL nor SMLAL, so they stand as words.
TEXT ·dotNEON(SB), NOSPLIT, $0-40
	MOVD q+0(FP), R0
	MOVD rows+8(FP), R1
	MOVD n+16(FP), R2
	MOVD stride+24(FP), R3
	MOVD out+32(FP), R4

row:
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	MOVD R0, R5
	MOVD R3, R6

turn:
	VLD1.P 16(R1), [V2.B16]
	VLD1.P 32(R5), [V3.H8, V4.H8]
	WORD   $0x0F08A445 // SXTL V5.8H, V2.8B
	WORD   $0x4F08A446 // SXTL2 V6.8H, V2.16B
	WORD   $0x0E6380A0 // SMLAL V0.4S, V5.4H, V3.4H
	WORD   $0x4E6380A1 // SMLAL2 V1.4S, V5.8H, V3.8H
	WORD   $0x0E6480C0 // SMLAL V0.4S, V6.4H, V4.4H
	WORD   $0x4E6480C1 // SMLAL2 V1.4S, V6.8H, V4.8H
	SUBS   $16, R6, R6
	BNE    turn

	VADD  V1.S4, V0.S4, V0.S4
	VADDV V0.S4, V0
	VMOV  V0.S[0], R7
	MOVW  R7, (R4)
	ADD   $4, R4, R4
	SUBS  $1, R2, R2
	BNE   row
	RET
