// Package memory remembers, recalls, explains, dates and forgets: how do I use this as a library?
package memory
