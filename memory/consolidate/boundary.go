package consolidate

type SplitOptions struct{}

func (o *SplitOptions) setDefaults() {}

type topicSet struct{}

type Chat interface{}
