package consolidate

import "context"

func (w *Worker) rulesStep(ctx context.Context) (bool, error) { return false, nil }
func (w *Worker) ponder(ctx context.Context) (bool, error)    { return false, nil }
