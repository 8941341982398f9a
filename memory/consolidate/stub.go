package consolidate

import "context"

type Chat interface{}

func (w *Worker) ponder(ctx context.Context) (bool, error) { return false, nil }
