package store

import (
	"encoding/binary"
	"fmt"
	"math"
)

// EncodeVector writes a unit vector with the hash of the text it came from; DecodeVector reads it. The numbers
// are kept in 16 bits, the largest becoming 32767: the length is known, and the rounding is a hundredth of
// what tells two neighbours apart. What was read and is written again gives the same bytes.
func EncodeVector(textHash uint64, v []float32) []byte {
	b := make([]byte, 0, 8+2*len(v))
	b = binary.BigEndian.AppendUint64(b, textHash)
	var m float64
	for _, x := range v {
		m = max(m, math.Abs(float64(x)))
	}
	for _, x := range v {
		q := int16(0)
		if m > 0 {
			q = int16(math.RoundToEven(float64(x) / m * math.MaxInt16))
		}
		b = binary.LittleEndian.AppendUint16(b, uint16(q))
	}
	return b
}

func DecodeVector(b []byte) (textHash uint64, v []float32, err error) {
	if len(b) < 8 || len(b)%2 != 0 {
		return 0, nil, fmt.Errorf("%w: vector of %d bytes", ErrCorrupt, len(b))
	}
	v = make([]float32, (len(b)-8)/2)
	ReadVector(v, b)
	return binary.BigEndian.Uint64(b), v, nil
}

// ReadVector reads the numbers of a row that is known to be one of len(v).
func ReadVector(v []float32, b []byte) {
	var squares float64
	for i := range v {
		x := float64(int16(binary.LittleEndian.Uint16(b[8+2*i:])))
		squares += float64(x * x)
		v[i] = float32(x)
	}
	if squares == 0 {
		return
	}
	scale := 1 / math.Sqrt(squares)
	for i, x := range v {
		v[i] = float32(float64(x) * scale)
	}
}
