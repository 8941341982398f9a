package extract

import "strings"

// The word lists of this package: general English and public knowledge, written for it. They decide
// between "a name" and "a word that stands first in its sentence", nothing else, so a missing word
// costs one doubtful mention and no more.

type wordSet map[string]struct{}

func words(lists ...string) wordSet {
	n := 0
	for _, l := range lists {
		n += len(l) / 6
	}
	s := make(wordSet, n)
	for _, l := range lists {
		for _, w := range strings.Fields(l) {
			s[w] = struct{}{}
		}
	}
	return s
}

func (s wordSet) has(w string) bool { _, ok := s[w]; return ok }

// functionWords are the closed classes: never a name by themselves, stripped from the ends of a run.
var functionWords = words(`
i i'm i've i'll i'd im ive me my mine myself we we're we've we'll we'd us our ours ourselves you you're you've you'll you'd your yours
yourself yourselves he he's he'll he'd him his himself she she's she'll she'd her hers herself it it's it'll it'd its itself they
they're they've they'll they'd them their theirs themselves this that that's that'll thats these those there there's there're here here's
who who's whom whose what what's whatever which whichever when whenever where where's wherever why why's how how's however
a an the and or but nor so yet for if unless until till while whereas although though because cause cuz since as than whether
of in on at by to from with without within into onto upon over under above below between among across through during before after
about against around behind beside besides beyond despite down except inside near off out outside past per toward towards up via like
is isn't am are aren't was wasn't were weren't be been being do don't does doesn't did didn't done have haven't has hasn't had hadn't
having can can't cannot could couldn't will won't would wouldn't shall shan't should shouldn't may might must mustn't ought
not no none nobody nothing nowhere never neither either both all any anyone anybody anything anyway anywhere each every everyone
everybody everything everywhere few fewer many more most much several some someone somebody something somewhere sometimes somehow such
same other others another own only just also too very quite rather even still again already always often ever once twice soon now then
let let's lets ain't y'all gonna wanna gotta dunno`)

// interjections open turns and stand before a name that is spoken to: "Hey Mel", "Thanks, Mel".
var interjections = words(`
hey hi hello hiya howdy yo heya greetings welcome bye goodbye cheers thanks thank thx ty please sorry pardon excuse congrats
congratulations wow whoa woah oh ooh oooh ah aha ahh aw aww awww ugh uh um umm hm hmm mm mmm mhm huh ha haha hahaha hehe lol lmao omg yay
yikes oops ouch phew psst shh gosh gee jeez geez damn dang darn heck hell god goodness wait ok okay okey yes yeah yea yep yup yess ya nah
nope no alright right sure well good morning afternoon evening night dear bravo hooray hurray woohoo yahoo amen ditto duh eh er
farewell goodnight haha ta indeed absolutely definitely exactly totally anyways anyhow look listen see ya bro dude man guys folks sis anytime
buddy pal mate friend friends everyone all team honey sweetie babe baby darling love sir ma'am madam champ kiddo bestie girl boy girls boys
lady ladies gentlemen hun sweetheart man men kid kids`)

// calendarWords are times, which package temporal reads: never names (May, April and June, which are
// also given names, are weighed in mention.go).
var calendarWords = words(`
monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays mon tue tues wed
thu thur thurs fri sat january february march april may june july august september october november december jan feb mar apr jun jul aug
sep sept oct nov dec today tomorrow yesterday tonight christmas xmas easter halloween thanksgiving am pm a.m p.m utc gmt est pst cet
spring summer autumn fall winter weekend monday's friday's sunday's`)

// commonWords open sentences or are capitalised for no reason; one of them alone is no name.
var commonWords = words(`
able abroad absolute accept access account across act action active activities activity actual add address adventure adventures advice afraid
age ages ago agree agreed air album alert alone along aloud alternatively amazed amazing amount ancient anger angry animal animals
anniversary announce answer answers apart apartment apologies apparent apparently appear apple apples apply appreciate approach area areas
arm art article articles artist artists ask asked asking aside assuming assume attention attached author autumn available average avoid awake
award awards aware away awesome awful baby back bad bag bake baking balance ball band bank bar base based basic basically basketball bath beach bear
beat beautiful beauty become bed beer begin beginning believe belief bell below best bet better bid big biggest bike bill bird birthday
bit bless block blog blood blow blue board boat body bold bonus book books boring born boss bottom bought bound bow bowl box boy brain brand
brave bread break breakfast breaking breathe brief bright brilliant bring broken brother brothers brown brunch brush bucks budget bug bugs build
building built bunch burn bus business busy butter button buy cake call called calls calm camera camp campaign camping cancel candle candles capital car
card cards care career careful case cash cat catch cats caught caution celebrate center centre certain chair challenge challenges champion chance
change changes character characters charity chat cheap check cheese chef chicken child childhood children chill chocolate choice choices choose church
circle city class classes classic clean clear clearly click climate climb close closing clothes clothing cloud club coach coaching code coffee cold collect
college color colors colour colours come comes comfort coming comment comments common community companies company complete completely computer concert
concerns conclusion confidence confirm confirmed connect connecting connection consider considering contact content context continue control cook cooking cookies cool copy core
corner correct correction cost count counting country couple courage course courses cousin cover cozy crazy create created creating creative creativity credit cross crowd cry cup
curious current currently custom customer cut cute cycling daily dance dances dancing danger dark data date day days dead deal death debug debugging decide decided
decision decisions deep default delete deliver delicious delightful demand depend depending depends describe description design desk dessert destiny detail details determined develop
developer development difference different difficult dig dinner direct discover discuss discussing discussion dish disney dive doctor dog dogs doing door double
doubt download drama draw drawing dream dreams dress drink drinks drive driving drop dropping dry due easy eat eating edit education effort ego else email emotional
empathy employee empty enable end energy engage enjoy enjoyed enjoying enough ensure enter entire environment equal error errors especially essay etc evening event events eventually evening
evidence exact exam example excellent except excited excitement exciting exercise exercising expect expected expensive experience experiences experiment explain explore exploring express expression extra eye eyes
face fact facts fail failed fails failure fair fairly faith fall family families famous fan fans fancy fantastic fantasy far farm fashion fast fat father favorite favorites favourite fear feature features feed feedback
feel feeling feels feelings fellow felt festival fight fighting figure figured file files fill film films final finally find finding fine finger fingers finish finished fire first fish fishing
fit fitness five fix fixed fixing flag flat flight floor flow flower flowers fly flying focus follow followed following food foods fool foot football force forest forever forget form former fortunately
forward foster found foundation four frankly free freedom fresh friend friendly friends friendship frog fruit frustrating full fully fun funny further future gain game gamer games gaming garden gardening
gather gear general generally genius gentle genuine get gets getting gift gifts girl girls give given gives giving glad glass go goal goals goes going gold gone good goodbye google gorgeous got grab grade
graduation grand grandma grandpa grandfather grandmother granny grateful gratitude great green ground group groups grow growing grown growth guess guest guide guitar guy guys gym habit hair half hall hand hands handmade hang happen happened
happens happiness happy hard hardly harmony hat hate head heading health healthy hear heard hearing heart heat heavy help helped helpful helping helps hence high hike hikes hiking hill history hit hobby hobbies hold holding
holiday holidays home homemade honest honestly honor honored hook hope hoped hopefully hopes hoping horror horse horses hospital host hot hotel hour hours house housing huge human hundred hungry hurry hurt husband
ice icing idea ideas idk illness image imagination imagine imo impact important impossible impressive improve incident incidentally include included including incredible indoor info information initially inside inspiration inspired inspiring
install instead insurance intense interest interested interesting international internet interview introduce invite involved issue issues item items jacket jazz job jobs join joined joining joke journal journey joy joyful juggling juice jump junk justice
keep keeping keeps kept key keys kick kid kidding kids kill kind kindness king kitchen knew know knowing known knows lack ladies lady lake land language large last lastly late lately later latest laugh laughter law lead
leader leading learn learned learning least leave leaves leaving left legal lemon lesson lessons letter letters letting level library lie life lift light lights likely limit limited line lines link links lion list listen listening lists literally
literature little live lived lives living load loads local location lock log login logo logs lonely long longer look looked looking looks loop lose losing loss lost lot lots loud lounge love loved lovely lover loves loving low luck luckily lucky lunch luxury
machine mad made magic magical magazine mail main mainly major make makes making mama man manage manager maps march mark market marketing marriage married mass massive master match material math matter matters maximum maybe meal meals mean
meaning means meanwhile meat media medical meditation medium meet meeting member members memories memory men mental mention mentors mentoring merge message messages met method middle migrate military milk million mind mine minor mint minute minutes mirror
miss missed missing mission mistake mix mixing modern mom moment moments moms momma mommy mum mummy money monitor month months mood moon moreover morning mostly mother motivation mountain mountains mouth move moved movement movie movies moving
muffins multiple music musical musician mystery name names nap nature natural naturally nearly neat necessary need needed needs negative neighbor neighborhood nerves nervous network networking new newest news next nice night nine noise non normal normally north
note noted notes notice noticed novel number numbers nurse nutrition object obviously occasionally ocean odd offer office officially oil old older oldest one ones online open opened opening opinion opportunities opportunity opposite option options orange
order orders ordered organic organize original originally outdoor outdoors output overall owner pack package page pages pain paint painted painting paintings pair panic paper parade parent parents parenting park part partly partner parts party pass passed passion
past pasta path patience pause pay payment peace peaceful pen people perfect perfectly perform performance performing perhaps period permission person personal personally pet pets phone photo photography photos physical piano pic pick picked picking pics picture pictures pie
piece pieces pink pizza place places plan planned planning plans plant plants plastic play played player players playing plenty plot plus pm pocket poem poetry point points police policy political politics pool poor pop popular port positive
positivity possible possibly post posted posting posts pottery pottery power powerful practice practicing practical prayers prefer prepare preparing presence present presentation president press pretty prevent previous previously price pride prime print prior private probably problem
problems process product production professional professor profit program programming progress project projects promise promised promoting proof proper property protect protest proud prove public pull puppies puppy purpose push pushing put putting puzzle quality queen query question questions
quick quickly quiet quit race radio rain rainy random range rare rarely rate ray reach reached reaching read reader readers reading reads ready real reality realistic realize realized really reason reasons recall receive received recent recently recipe recipes recommend
record recording recovery red reduce reference reflecting regarding regardless regular relationship relax relaxing release released remember remembering remind reminder reminds remote remove rent repeat reply report request research resilience resources respect respond response rest
restarting restaurant result results return review rewarding rice rich ride riding ring rise risk road rock role roll romantic room rooms root rough round route routine row rule rules run runner running runs rush safe safety said sad sadly salad sale sales salmon
sample sand save saved saving saw say saying says scared scary scene schedule school science score screen script sculpture sea search season seat second secondly secret section security seeing seem seemed seems seen select self sell selling send sending sense sent sentence
separate series serious seriously serve served service session set setbacks sets setting seven sex shadow shame shape share shared sharing sharp shed shelter ship shirt shoes shop shopping short shot show showed showing shows shut shy sick side sigh sign signed signing silence
silly silver similar similarly simple simply singing single sing singer sister sisters sit site sitting situation six size skiing skill skills skin sky sleep slow slowly small smart smell smile smiles smoke smooth snacks snow soccer social society soft software sold solid
solo solution solved song songs soon sound sounded sounds soup source south space speak speaking special specifically speech speed spend spending spent spicy spirit split sport sports spot spread spring stage stand standing star stars start started starting state states station
status stay stayed staying steady step steps stick stop stopped stopping storage store stores stories story strange street streets strength stress stretching strong struggle stuck student students studied studio study studying stuff stunning style subject success successful
suddenly sugar suggest suggestion suggestions suit sun sunday sunlight sunrise sunset sunsets super support supported supporting supportive suppose supposed surely surf surfing surprise surprised surprising surprisingly sushi sweet swim swimming switch system systems table tags take taken takes
taking talent talented talk talked talking talks tall tank task tasks taste tasty tax tea teach teacher teaching teacup team teams teamwork tears tech technically technique technology teen tell telling ten tennis terrible terms test tested testing tests text thank thankful
thankfully theater theatre theme therapy thereby therefore thick thin thing things think thinking third thought thoughts thousand threat three thrilled thriller throw thrown thumbs thus ticket tickets tie tied tiger time timeout timeouts times tiny tip tips tired title today toe
together told tomorrow tone tonight took tool tools top topic topics total touch tough tour tournament tournaments toward town track trade tradition traditional traditions traffic trail train trained trainer training travel traveling travelling treasure treat tree trees trends trick tricks tried
trip trips trouble truck true truly trust truth try trying turn turned turning turns turtle turtles tv twelve two type types ultimately umbrella unbelievable uncle understand understanding understood unexpected unfortunately unfortunate unique unit unity university unlike unreal upcoming
update updated updates upgrade use used useful user users uses using usual usually vacation valid value values vanilla various vegan vegetable vegetables veggies version veterans video videos view views village violin virtual visit visited visiting visitors visuals voice volunteer volunteered volunteering volunteers
vote wait waiting wake walk walked walking walks wall want wanted wanting wants war warm warning wars wash waste watch watched watching water wave waves way ways weak wear wearing weather web website wedding week weekend weekends weeks weight weird wellness went west wet
whatever wheel white whole wide wife wild win wind window windows wine winning winter wise wish wished wishing woman women won wonder wonderful wondering wood word words work worked working workout workouts works workshop world worried worries worry worse worst worth writer writers writing written wrong
wrote yard year years yellow yoga young younger youngest youth zero zone zoo
aunt auntie uncle dad daddy dads papa pop sis bro son daughter nephew niece grandson granddaughter boss
todo fixme nb ps pps re fw fwd cc bcc attn aka diy faq eta fyi btw imo imho tbh asap rip tbd tba wip lgtm ceo cto cfo hr pr qa ui ux vs dj mc tl dr
sender recipient subject summary conclusion title chapter section appendix figure table step steps item phase part
internal external public private backend frontend production staging cache latency deploy deployed deployment deploying server servers database branch commit commits pull rollback rollout rebuild restart reverted revert refactor endpoint
ship shipped shipping configured config configure enable enabled disable disabled docs doc documentation schema migration migrations pipeline cluster container containers replica replicas token tokens feature flag lint linter merged

animal bright cars chess climbing coolest cozy crafting creativity dang distance dope drawing dream dude earlier elsewhere embrace epic excellent fabulous fingers flexible frequent gluten goodness guessing handling heartbreaking hiking honestly incredible
insane intriguing jaw kinda kudos landed landscapes legendary looks lovely luckily marvelous mindful motivating nailed neither nothing nowadays outdoors outstanding passionate persistence photography plus practice precisely preach pretty priceless promising proud
random reconnecting refreshing remarkable resilience respect same scoring seriously sick simply sorta sounds spectacular splendid stoked stretching stunning superb sweet teamwork terrific therapeutic touching touche trading tragic tranquil tremendous tricky trippy true tuff ultimately unwinding upside
volunteering watercolors whoever winning witnessing woot wondrous wonderful wouldn't yum yummy
dairy gluten sugar injury injuries allergy allergies tons activist activists wolf wolves clay iron steel bummer agreed chosen pottery accidents arrested authorities citizens court demonstrators farmers government governments investigators judges lawmakers lawyers miners ministers officers officials opposition organisers organizers police politicians protesters protestors rebels residents soldiers strikers troops union unions voters witnesses workers according
additionally addressing admittedly ahead allegedly almost altogether amid amidst among annually apparently approximately arguably aside assuming back barely basically beforehand briefly broadly certainly clearly collectively commonly comparatively completely consequently continuing conversely critics
currently definitely deliberately despite directly doubtless earlier effectively elsewhere entirely equally essentially eventually evidently explicitly extremely finally firstly formerly fortunately frankly frequently fully furthermore generally given gradually greatly half halfway hardly
hence hereby historically hopefully however immediately importantly increasingly indeed initially interestingly ironically largely lastly lately likewise locally longterm mainly meantime meanwhile merely moreover mostly namely naturally nearly nevertheless nonetheless normally notably
obviously occasionally oddly officially originally otherwise overall overnight particularly partly permanently perhaps politically possibly potentially predictably presumably previously primarily privately probably publicly quickly rarely recently regardless regularly relatively reportedly respectively roughly
sadly secondly seemingly shortly significantly similarly simply simultaneously slightly slowly specifically strictly subsequently suddenly supposedly surely surprisingly technically temporarily thankfully thereafter therefore thirdly though thus together traditionally truly typically ultimately undoubtedly unfortunately unlike usually virtually whereby wholly widely`)

// titles stand before a surname; those of the first list end in a full stop that ends no sentence.
var (
	dotted = words(`mr mrs ms dr prof st jr sr vs etc no fig approx inc corp ltd co dept est gen col sgt capt lt rev hon gov sen rep mt ft ave blvd rd e.g i.e u.s u.k a.m p.m`)
	titles = words(`mr mrs ms miss dr prof professor sir madam lady lord judge captain capt coach uncle aunt auntie grandma grandpa president senator king queen prince princess rev reverend father sister brother saint st officer detective sergeant sgt general gen colonel col lieutenant lt governor mayor minister pope dean`)
)

// nameHeads may open a name although they are common words: "New York", "Great Wall".
var nameHeads = words(`
new north south east west northern southern eastern western central upper lower san santa saint st los las el la le mount mt lake fort ft port cape great grand
old big little golden silver red blue black white green national american international royal first second third united world saint palo costa puerto rio sri hong star
dr mr mrs ms miss prof professor sir lady lord judge captain coach uncle aunt auntie grandma grandpa president senator king queen prince princess camp hotel harry
windows apple google disney microsoft amazon visual spring open apache super final home street magic`)

// connectors join two capitalised words into one name.
var connectors = words(`of de del della der den van von la le los las da di du al el bin ibn y e`)

var placeWords = words(`
street avenue road lane boulevard drive square park beach lake river mountain mountains mount mt island islands bay valley canyon falls forest hill hills creek coast
ocean sea harbor harbour bridge airport station city town village county district peninsula desert trail garden gardens zoo mall plaza cape fort heights springs`)

var orgWords = words(`
inc corp corporation ltd llc gmbh company co university college school academy institute hospital clinic bank church foundation association society council committee
commission agency department ministry union league club team group museum library studio studios records party court force army navy police congress parliament labs lab
times post news tribune journal airlines motors systems technologies software media press restaurant cafe bakery gallery theater theatre center centre church shelter`)

// groupNouns may close a name that an acronym opens: "LGBTQ support group", "QA team".
var (
	groupNouns  = words(`group groups club clubs team teams center centre society association organization organisation committee council league foundation department conference community network`)
	groupInners = words(`support advocacy youth book research working user users developer developers study student students engineering rights parents peer security infra platform activist community`)
)

var places = words(`
afghanistan albania algeria argentina armenia australia austria bangladesh belarus belgium bolivia bosnia brazil britain bulgaria burma cambodia cameroon canada chile china
colombia congo croatia cuba cyprus denmark ecuador egypt england estonia ethiopia europe finland france georgia germany ghana greece guatemala haiti honduras hungary iceland india
indonesia iran iraq ireland israel italy jamaica japan jordan kazakhstan kenya korea kosovo kuwait laos latvia lebanon libya lithuania luxembourg malaysia mali malta mexico moldova
mongolia morocco mozambique myanmar namibia nepal netherlands nicaragua niger nigeria norway oman pakistan palestine panama paraguay peru philippines poland portugal qatar romania russia
rwanda scotland senegal serbia singapore slovakia slovenia somalia spain sudan sweden switzerland syria taiwan tanzania thailand tibet tunisia turkey uganda ukraine uruguay usa uk uae
uzbekistan venezuela vietnam wales yemen zambia zimbabwe africa asia america antarctica
alabama alaska arizona arkansas california colorado connecticut delaware florida hawaii idaho illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota
mississippi missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah vermont virginia wisconsin wyoming
amsterdam ankara athens atlanta auckland austin baghdad bali baltimore bangkok barcelona beijing belfast belgrade berlin bogota bombay boston brisbane brooklyn brussels bucharest budapest
cairo calgary casablanca chicago cleveland copenhagen dakar dallas delhi denver detroit dhaka dubai dublin edinburgh florence frankfurt geneva glasgow hamburg hanoi harlem havana helsinki
hollywood houston istanbul jakarta jerusalem johannesburg karachi kiev kyiv kyoto lagos lima lisbon liverpool london lyon madrid manchester manhattan manila marrakesh marseille
melbourne miami milan milwaukee minneapolis montreal moscow mumbai munich nairobi naples nashville nyc oakland orlando osaka oslo ottawa oxford paris perth philadelphia phoenix
pittsburgh portland prague quebec reykjavik riga rome rotterdam sacramento santiago sarajevo seattle seoul shanghai shenzhen sofia stockholm sydney taipei tallinn tehran tokyo toronto
tucson tunis turin vancouver venice vienna vilnius warsaw wellington yokohama zagreb zurich toronto`)

// services are program and product names that a log of work mentions in lower case too.
var services = words(`
postgres postgresql mysql mariadb sqlite redis memcached kafka rabbitmq nats zookeeper etcd nginx haproxy traefik istio kubernetes k8s docker podman
containerd terraform ansible jenkins grafana prometheus loki jaeger elasticsearch opensearch kibana logstash clickhouse cassandra mongodb dynamodb cockroachdb rocksdb
leveldb s3 ec2 rds cloudfront cloudflare github gitlab bitbucket jira datadog pagerduty ollama airflow flink sidekiq webpack vite
npm pnpm gradle pytest systemd cron keycloak okta auth0 twilio sendgrid supabase vercel netlify heroku`)

// Imperatives and nouns that open the points of a list.
func init() {
	for w := range words(`incorporate determine analyze analyse visualize experiment collaborate hydrate utilize implement establish ensure recruit promote practice practise conduct monitor evaluate
	assess identify outline draft revise schedule allocate prioritize prioritise optimize optimise streamline leverage collect compare combine compile define estimate invest maintain minimize maximise maximize
	breed breeds racket egg eggs herb herbs stance footwork cadence preparation hygiene brochure inventory venue volley drill drills string strings toss fuel feet rotation inventory regulation regulations`) {
		commonWords[w] = struct{}{}
	}
}
