#include "textflag.h"

// func dotAVX2(q *int16, rows *int8, n, stride int, out *int32)
// Each turn widens 32 numbers of a row to 16 bits and adds their products with q's in pairs of 32 bits.
TEXT ·dotAVX2(SB), NOSPLIT, $0-40
	MOVQ q+0(FP), SI
	MOVQ rows+8(FP), DI
	MOVQ n+16(FP), CX
	MOVQ stride+24(FP), DX
	MOVQ out+32(FP), R8

row:
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	XORQ  AX, AX

turn:
	VPMOVSXBW    (DI)(AX*1), Y2
	VPMADDWD     (SI)(AX*2), Y2, Y2
	VPADDD       Y2, Y0, Y0
	VPMOVSXBW    16(DI)(AX*1), Y3
	VPMADDWD     32(SI)(AX*2), Y3, Y3
	VPADDD       Y3, Y1, Y1
	ADDQ         $32, AX
	CMPQ         AX, DX
	JLT          turn

	VPADDD       Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4E, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xB1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, (R8)
	ADDQ         $4, R8
	ADDQ         DX, DI
	DECQ         CX
	JNZ          row

	VZEROUPPER
	RET
