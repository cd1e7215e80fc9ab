// Every method of the generated client, in the order of a story: main HOST:PORT CONTEXT LOGGED SIGN prints a line of JSON for each.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"

	singularity "github.com/opentable/go-singularity"
)

// A step calls a method, or sets the scene only: a plain call ("POST path"), or a file ("CREATE path").
type step struct {
	method string
	// JSON of the arguments; {name} is what an earlier step has saved.
	arguments string
	// What the answer must match, as JSON, after the client has read it; its first group is saved under the name.
	want string
	save string
	// What the answer must not match.
	not string
	// A path, and what a plain GET of it must say afterwards; with a '!' before it, what it must not say.
	path string
	seen string
	// Why the client itself cannot make it work; `want` is then matched by its error.
	fault string
}

type driver struct {
	base   string
	client *singularity.Client
	saved  map[string]string
	called map[string]bool
}

func main() {
	base := "http://" + os.Args[1] + os.Args[2]
	d := driver{base, singularity.NewClient(base), map[string]string{"logged": os.Args[3], "sign": os.Args[4]}, map[string]bool{}}
	for _, s := range story {
		d.do(s)
	}
	client := reflect.TypeOf(d.client)
	inherited := reflect.TypeOf(d.client.Requester)
	for index := 0; index < client.NumMethod(); index++ {
		name := client.Method(index).Name
		if _, isInherited := inherited.MethodByName(name); !isInherited && !d.called[name] {
			tell(name, "not called", "")
		}
	}
}

func (d *driver) do(s step) {
	for name, value := range d.saved {
		s.arguments = strings.ReplaceAll(s.arguments, "{"+name+"}", value)
		s.method = strings.ReplaceAll(s.method, "{"+name+"}", value)
		s.path = strings.ReplaceAll(s.path, "{"+name+"}", value)
		s.want = strings.ReplaceAll(s.want, "{"+name+"}", regexp.QuoteMeta(value))
	}
	verb, path, isPlain := strings.Cut(s.method, " ")
	// What is only read may need its time.
	until := time.Now().Add(20 * time.Second)
	for {
		var saw string
		var err error
		if isPlain {
			saw, err = d.plain(verb, path, s.arguments)
		} else {
			saw, err = d.call(s.method, s.arguments)
			d.called[s.method] = true
		}
		if s.fault != "" && err != nil {
			saw, err = err.Error(), nil
		} else if s.fault != "" {
			err = fmt.Errorf("it did not fail")
		}
		found := regexp.MustCompile(s.want).FindStringSubmatch(saw)
		if err == nil && found != nil && s.not != "" && regexp.MustCompile(s.not).MatchString(saw) {
			found, err = nil, fmt.Errorf("%s is in it", s.not)
		}
		if err == nil && found != nil && s.path != "" {
			if page, isSeen := d.isSeen(s, until); !isSeen {
				tell(s.method, "fails", fmt.Sprintf("%s: not so in %s: %s", s.seen, s.path, page))
				return
			}
		}
		if err == nil && found != nil {
			if s.save != "" {
				d.saved[s.save] = found[1]
			}
			if s.fault != "" {
				tell(s.method, "fault", s.fault)
			} else if !isPlain {
				tell(s.method, "works", saw)
			}
			return
		}
		isRead := strings.HasPrefix(s.method, "Get") || verb == "GET" || s.method == "Browse" || s.method == "Read"
		if !isRead || s.fault != "" || time.Now().After(until) {
			tell(s.method, "fails", fmt.Sprintf("%s is not in %s %v", s.want, saw, err))
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// What a write has done may need its time.
func (d *driver) isSeen(s step, until time.Time) (string, bool) {
	pattern := regexp.MustCompile(strings.TrimPrefix(s.seen, "!"))
	for {
		// An error of the service is an answer as well.
		page, _ := d.plain("GET", s.path, "")
		if pattern.MatchString(page) != strings.HasPrefix(s.seen, "!") {
			return page, true
		}
		if time.Now().After(until) {
			return page, false
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (d *driver) call(method string, arguments string) (string, error) {
	f := reflect.ValueOf(d.client).MethodByName(method)
	if !f.IsValid() {
		return "", fmt.Errorf("no method %s", method)
	}
	var given []json.RawMessage
	if err := json.Unmarshal([]byte("["+arguments+"]"), &given); err != nil {
		return "", err
	}
	in := make([]reflect.Value, f.Type().NumIn())
	for index := range in {
		value := reflect.New(f.Type().In(index))
		if err := json.Unmarshal(given[index], value.Interface()); err != nil {
			return "", err
		}
		in[index] = value.Elem()
	}
	out := f.Call(in)
	if err, isError := out[1].Interface().(error); isError {
		return "", err
	}
	text, err := json.Marshal(out[0].Interface())
	return string(text), err
}

func (d *driver) plain(verb string, path string, body string) (string, error) {
	if verb == "CREATE" {
		return "", os.WriteFile(path, nil, 0o644)
	}
	request, err := http.NewRequest(verb, d.base+"/api/"+path, bytes.NewBufferString(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode > 299 {
		err = fmt.Errorf("%s", text)
	}
	return string(text), err
}

func tell(method string, outcome string, saw string) {
	if len(saw) > 600 {
		saw = saw[:600]
	}
	line, _ := json.Marshal(map[string]string{"method": method, "outcome": outcome, "saw": saw})
	fmt.Println(string(line))
}
