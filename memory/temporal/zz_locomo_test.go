package temporal
import ("testing";"time";"os";"encoding/json";"fmt";"sort";"strings")
func TestZZ(t *testing.T){
 raw,err:=os.ReadFile(os.Getenv("ZZ")); if err!=nil{t.Skip()}
 var d []map[string]json.RawMessage
 json.Unmarshal(raw,&d)
 r:=New(Options{})
 w,_:=os.Create("/tmp/zz.txt"); out:=map[string]any{}
 for _,c:=range d{ var conv map[string]json.RawMessage; json.Unmarshal(c["conversation"],&conv); var id string; json.Unmarshal(c["sample_id"],&id)
  for k,v:=range conv{ var turns []struct{Dia_id,Speaker,Text string}; if json.Unmarshal(v,&turns)!=nil{continue}
   var ds string; json.Unmarshal(conv[k+"_date_time"],&ds); ref,err:=time.Parse("3:04 pm on 2 January, 2006",ds); if err!=nil{continue}
   for _,tt:=range turns{ ms:=r.scan(tt.Text,ref); var l []any
    for _,m:=range ms{ fmt.Fprintf(w,"%s|%q|%v|%s|t%d|%s\n",tt.Dia_id,m.Text,m.Grain,Describe(m,ref),m.Tense,strings.ReplaceAll(tt.Text,"\n"," "))
     if !m.IsZero(){ l=append(l,map[string]any{"start":ds2(m.Start,m.OpenStart),"end":ds2(m.End,m.OpenEnd),"text":m.Text,"grain":m.Grain.String()})}}
    out[id+"/"+tt.Dia_id]=map[string]any{"ref":ref.Format(time.RFC3339),"text":tt.Text,"times":l}}}}
 _=sort.Strings
 b,_:=json.Marshal(out); os.WriteFile("/tmp/zz.json",b,0644)
}
func ds2(t time.Time,o bool)any{if o{return nil};return t.Format(time.RFC3339)}
