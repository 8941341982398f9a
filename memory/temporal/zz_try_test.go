package temporal
import ("testing";"time";"os";"bufio";"fmt";"strings")
func TestTry(t *testing.T){
 f,_:=os.Open("/tmp/try.txt"); sc:=bufio.NewScanner(f)
 r:=New(Options{}); ref:=time.Date(2023,6,9,19,55,0,0,time.UTC)
 for sc.Scan(){ l:=sc.Text(); if strings.HasPrefix(l,"@"){ ref,_=time.Parse(time.RFC3339,l[1:]); fmt.Println(l); continue}
  fmt.Println("·",l)
  for _,m:=range r.scan(l,ref){ o:=Describe(m,ref); if m.IsZero(){o="(length)"}; x:=""; if m.Absolute{x+=" abs"}; if m.Approx{x+=" ~"}; if m.Length!=nil{x+=fmt.Sprintf(" len %v %v",m.Length.Amount,m.Length.Grain)}
   fmt.Printf("      %q %v [%s, %s) t%d%s | %s\n",m.Text,m.Grain,m.Start.Format("2006-01-02T15:04 Mon"),m.End.Format("2006-01-02T15:04 Mon"),m.Tense,x,o)}
 }}
