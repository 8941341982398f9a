package memory

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // what a memory's words say may not depend on the machine's zone files, nor on there being any

	"github.com/magma-mcp/magma-mcp/memory/store"
)

// named gives a zone that knows its IANA name where it can be known: time.Local calls itself "Local", which
// says nothing on another machine. The name comes from where the operating system has it: TZ, or the link
// /etc/localtime.
func named(z *time.Location) *time.Location {
	if z != time.Local {
		return z
	}
	name := strings.TrimPrefix(os.Getenv("TZ"), ":")
	if name == "" {
		if link, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
			_, name, _ = strings.Cut(filepath.ToSlash(link), "zoneinfo/")
		}
	}
	if loc, err := time.LoadLocation(name); err == nil && name != "" && name != "Local" {
		return loc
	}
	return z
}

// zoneOf is the name under which a record keeps the zone its times are read in; "" where its offset says all.
func zoneOf(t time.Time) string {
	name := t.Location().String()
	if name == "UTC" || name == "Local" {
		return ""
	}
	if _, err := time.LoadLocation(name); err != nil {
		return "" // a fixed offset
	}
	return name
}

// zones are the zones that records name, by name: LoadLocation reads them anew each time.
var zones sync.Map

// localTime is when a memory occurred, in the zone it was told in: there the day of a clock change has 23 or 25
// hours, which an offset alone cannot know. A zone that this program does not have leaves the offset.
func localTime(r *store.Record) time.Time {
	if r.Zone == "" {
		return r.At.Time()
	}
	z, ok := zones.Load(r.Zone)
	if !ok {
		loc, err := time.LoadLocation(r.Zone)
		if err != nil {
			return r.At.Time()
		}
		z, _ = zones.LoadOrStore(r.Zone, loc)
	}
	return r.At.Time().In(z.(*time.Location))
}
