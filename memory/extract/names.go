package extract

import "strings"

// givenNames are frequent given names in English texts of many origins; one of them at the start of
// a sentence is a person without further evidence. ambiguousNames are words as often: those ask for
// evidence there. Public knowledge, written for this package.
var givenNames = words(`
aaron abby abdul abel abigail abraham adam adele adrian adriana agnes ahmad ahmed aidan aiden aisha akira alan alana albert alberto alejandra alejandro alessandro alex alexa alexander alexandra
alexandria alexis alfonso alfred ali alice alicia alina alison allan allen allie allison alma alvin alyssa amanda amber amelia amina amir amit amy ana anastasia andre andrea andreas andrei andrew
andy angel angela angelica angelina angie anil anita anjali ann anna annabelle anne annette annie anthony antoine anton antonia antonio anya april ariana ariel arjun arlene armando arnold arthur arturo
arun asha ashley asif astrid aubrey audrey aurora ava avery axel ayesha barbara barney barry beatrice becca becky belinda bella ben benjamin benny bernadette bernard bernie bert bertha bessie
beth bethany betty beverly bianca billy bjorn blake blanca bob bobby boris brad bradley brandon brandy brenda brendan brent brett brian briana brianna bridget brittany brooke bruce bruno bryan bryce byron
caitlin calvin cameron camila camilla candace cara carl carla carlo carlos carmen carol carole carolina caroline carolyn carrie carter cary casey cassandra cassie catalina catherine cathy cecil cecilia
cedric celeste celia cesar chandler chandra charlene charles charlie charlotte chelsea chen cheryl chloe chris christa christian christina christine christopher christy cindy claire clara clarence
clark claude claudia clayton cliff clifford clint clinton clyde cody cole colin colleen connie connor conor conrad cora corey corinne courtney craig cristina crystal curtis cynthia daisy dale dalia damian damien damon
dan dana daniel daniela danielle danny daphne daria darius darlene darrell darren daryl dave david dean deanna debbie deborah debra deepak deirdre delia della denis denise dennis derek desmond devin
devon diana diane dianne diego dieter dimitri dina dinesh dmitri dolores dominic dominique don donald donna dora doreen doris dorothy doug douglas duncan dustin dwayne dwight dylan earl ebony ed eddie
edgar edith edmund eduardo edward edwin eileen elaine eleanor elena eli elias elijah elisa elise elizabeth ella ellen ellie elliot elliott elmer eloise elsa elsie elton elvira elvis emil emilia emilio
emily emma emmanuel enrique eric erica erik erika erin ernest ernesto esme esmeralda esteban estelle esther ethan ethel eugene eunice eva evan evelyn fabian farah fatima felicia felipe felix fernanda fernando
fiona florence floyd frances francesca francesco francis francisco franco frank frankie franklin fred freddie freddy frederick frida gabriel gabriela gabriella gabrielle gail garrett gareth gary gavin gemma gene
genevieve geoffrey george georgia georgina gerald geraldine gerard gerry gianna gilbert gina ginger giovanni gisela gita giulia gladys glen glenda glenn gloria gordon greg gregory greta gretchen guillermo
gunther gus gustav gustavo gwen gwendolyn hailey hal hamid hana hank hanna hannah hans harold harriet harrison harry harvey hassan hayden hazel heather hector heidi helen helena helga henri henrietta henrik henry
herbert herman hilary hilda hiro hiroshi holly homer howard hubert hugh hugo humberto hussein ian ibrahim ida ignacio igor ilya imran ines ingrid irene irina iris irma irving isaac isabel isabella isabelle isaiah
ismail ivan ivy jack jackie jackson jacob jacqueline jacques jaime jake jamal james jamie jan jana jane janet janice janine jared jasmin jasmine jason javier jay jayden jean jeanette jeanne jeff jeffery jeffrey jen
jenna jennie jennifer jenny jeremiah jeremy jerome jerry jesse jessica jessie jesus jill jillian jim jimmy jin jing joan joana joanna joanne jocelyn jody joe joel joey johan johann johanna john johnny jon jonah
jonas jonathan jordan jorge jose josef joseph josephine josh joshua josie joyce juan juana juanita judith judy julia julian juliana julie juliet julio julius justin justine kai kaitlyn kamal kara karen karim karin
karl karla kate katherine kathleen kathryn kathy katie katrina kay kayla keiko keith kelly kelsey ken kendra kenji kenneth kenny kerry kevin khalid kim kimberly kiran kirk klaus krista kristen kristin kristina kristy
kumar kurt kyle lakshmi lana lance lara larry lars laura lauren laurence laurie lawrence leah lee leila lena leo leon leona leonard leonardo leroy leslie lester leticia lewis li liam lila lillian lily linda lindsay
lindsey lionel lisa liz liza lizzie lloyd logan lois lola lonnie lora lorenzo loretta lori lorraine louis louisa louise lucas lucia luciana lucille lucinda lucy luigi luis luisa luka lukas luke luna lydia lyle lynn
mabel mack mackenzie madeleine madeline madison mae maggie magnus mahmoud malcolm malik mandy manuel manuela mara marc marcel marcela marcia marco marcos marcus margaret margarita marge margot maria mariam marian mariana marianne
marie marilyn marina mario marion marisa marissa marjorie marlene marsha marshall marta martha martin martina marvin mary maryam mason mateo mathilde matilda matt matteo matthew maureen maurice mauricio max maxine maya meera megan
meghan mehmet mei mel melanie melinda melissa melody melvin mercedes meredith mia micah michael michaela micheal michel michele michelle miguel mikael mike mikhail mila mildred miles milena millie milo milton mina minh mira miranda
miriam misha mitch mitchell mohamed mohammad mohammed moira moises molly mona monica monique morgan moses muhammad mustafa myra nadia nadine nancy naomi natalia natalie natasha nate nathan nathaniel ned neha neil nelson nia nicholas
nick nicky nico nicola nicolas nicole nigel nikhil nikita nikki nikolai nina noah noel noelle noor nora norma norman oleg olga olive oliver olivia omar oscar otto owen pablo paige pam pamela paola parker patricia patrick patsy patti paul
paula paulina pauline pavel pedro peggy penelope penny percy perry pete peter petra phil philip philippa phillip phoebe phyllis pierre polly prakash preeti preston priscilla priya rachael rachel rafael rahul raj rajesh ralph ramesh ramon
ramona randall randy raphael raquel rashid raul ravi raymond rebecca regina reginald rene renee rex rhonda ricardo richard rick ricky riley rita robbie robert roberta roberto robin rocio roderick rodney rodrigo roger roland roman romeo ron
ronald ronnie rosa rosalie rosalind rosario rosemary rosie ross roxanne roy ruben ruby rudolf rudy rufus rupert russell ruth ryan sabrina sadie said salim sally salma salvador sam samantha samir samira sammy samuel sandra sandy sanjay santiago
sara sarah sasha saul scott sean sebastian selena selina serena sergei sergey sergio seth shane shannon sharon shaun shauna shawn sheila shelby sheldon shelley shelly sherry shirley sid sidney sienna sierra silvia simon simone sofia sonia
sonja sophia sophie spencer stacey stacy stan stanley stefan stefania stefano stella stephan stephanie stephen steve steven stewart stuart sunil susan susanna susie suzanne sven sybil sydney sylvia tabitha tamara tammy tanya tara tariq tasha tatiana
ted teddy terence teresa teri terrance terrence terri terry tessa thelma theo theodore theresa thomas tia tiffany tim timothy tina toby todd tom tomas tommy toni tony tracy travis trent trevor tricia trisha tristan troy tyler tyrone ulrich ursula
valentina valeria valerie vanessa velma vera vernon veronica vicki vicky victor victoria viktor vikram vince vincent viola violet virgil virginia vivian vladimir wade wallace wally walter wanda warren wayne wei wendell wendy wesley whitney wilbur
wilfred wilhelm willard william willie wilma winifred winston wolfgang xavier xiao yan yannick yasmin yolanda yosef youssef yuki yuri yusuf yvette yvonne zach zachary zack zara zelda zoe zoey`)

var ambiguousNames = words(`
angel april art ash august autumn basil bill blake brad brook buck christian christmas clay cliff crystal daisy dale dawn dean don drew earl eve faith fern flora frank
gene ginger glen grace grant hazel heath heather holly hope hunter iris ivy jack jade jasmine jay jean jesus john josh joy june kelly king lance laurel lee lily mark marsh mason max may melody mercy mike miles mina
olive pat patience paige pearl penny peg piper pierce prudence ray reed rich rick rob robin rocky rod rose ruby rusty sandy skip sue summer sunny ted violet wade will willow winter woody`)

// pairWords in the table of nicknames are programs or plain words: they make no given name.
var pairWords = words(`kubernetes k8s postgresql postgres javascript js typescript ts ant bran dot cat nan pip lex memo kit dolly kitty tab em mon char bas al la lo val vic dick rich rob art pat gene drew chance reg nat mo san`)

func init() {
	for _, line := range nicknames {
		for _, w := range strings.Fields(line) {
			if !pairWords.has(w) && !commonWords.has(w) && !functionWords.has(w) && !ambiguousNames.has(w) {
				givenNames[w] = struct{}{}
			}
		}
	}
}

// nicknames groups the forms of one given name; the first is the full one. Forms may stand in several.
var nicknames = []string{
	"abigail abby gail", "abraham abe", "albert al bert bertie albie", "alexander alex al xander sasha lex alec sandy", "alexandra alex sandra sasha lexi allie sandy", "alexis alex lexi",
	"alfred al fred alfie freddie", "alison ali allie", "amanda mandy amy", "andrew andy drew", "angela angie", "ann annie nan", "anna annie ana", "anthony tony ant", "antonio tony toni",
	"arthur art artie", "barbara barb barbie babs", "beatrice bea trixie", "benjamin ben benny benji", "bernard bernie", "bethany beth", "beverly bev", "bradley brad", "brandon bran", "brian bri",
	"caroline carrie caro carol", "carolyn carol carrie lyn", "cassandra cass cassie sandra", "catherine cathy cate cat kate katie kitty", "charles charlie chuck chas chaz", "charlotte charlie lottie char",
	"christian chris", "christina chris chrissy christy tina", "christine chris chrissy christy tina", "christopher chris topher kit", "clifford cliff", "cynthia cindy", "daniel dan danny", "danielle dani",
	"david dave davy", "deborah deb debbie debra", "dennis denny", "dominic dom", "donald don donny", "dorothy dot dottie dolly", "douglas doug", "edward ed eddie ted teddy ned", "edwin ed eddie",
	"eleanor ellie nell nora", "elijah eli", "elizabeth liz lizzie beth betty eliza ellie libby lisa betsy", "emily em emmy", "emma em", "ernest ernie", "eugene gene", "frances fran frankie francie",
	"francis frank fran frankie", "francisco paco frank fran pancho", "franklin frank", "frederick fred freddie freddy rick", "gabriel gabe", "gabriella gabby ella", "geoffrey geoff jeff", "gerald gerry jerry",
	"gregory greg", "gwendolyn gwen", "harold harry hal", "harriet hattie", "henry hank harry hal", "hannah hanna", "isabella bella izzy isa", "isabel izzy bella", "isaac ike zac", "jacob jake", "jacqueline jackie",
	"james jim jimmy jamie", "jane janie", "janet jan", "jason jay", "jeffrey jeff", "jennifer jen jenny jenn", "jeremy jem jerry", "jessica jess jessie", "joan joanie", "joanna jo joan", "joanne jo",
	"john jack johnny jon", "jonathan jon jonny nathan", "joseph joe joey", "josephine jo josie", "joshua josh", "judith judy", "julia jules julie", "julian jules", "katherine kate katie kathy kat kitty kath",
	"kathleen kathy kate kath", "kathryn kate kathy katie kath", "kenneth ken kenny", "kimberly kim", "kristen kris", "kristina kris tina", "lawrence larry lars laurie", "leonard leo len lenny", "leonardo leo",
	"lillian lily lil", "louis lou louie", "louise lou lulu", "lucille lucy", "madeline maddie", "margaret maggie meg peggy marge margie greta rita daisy", "maria mia mary marie", "marilyn mary", "martha marty",
	"martin marty", "matthew matt matty", "maxwell max", "maximilian max", "megan meg", "melanie mel", "melissa mel missy lissa", "melinda mel mindy", "melvin mel", "michael mike mikey mick mickey", "michelle shelly chelle",
	"miranda randi", "mitchell mitch", "monica mon", "nancy nan", "natalie nat", "natasha tasha nat", "nathan nate nat", "nathaniel nate nathan nat", "nicholas nick nicky nico", "nicole nikki nicky nic", "nicolas nico nick", "olivia liv livvy",
	"oliver ollie", "pamela pam", "patricia pat patty tricia trish", "patrick pat paddy", "paul paulie", "penelope penny", "peter pete", "philip phil pip", "phillip phil", "rachel rach rae", "raymond ray",
	"rebecca becca becky bec", "reginald reg reggie", "richard rick dick rich richie ricky", "robert bob bobby rob robbie bert", "roberta bobbie", "ronald ron ronnie", "rosemary rose rosie", "russell russ", "ruth ruthie",
	"samantha sam sammy", "samuel sam sammy", "sandra sandy", "sarah sally sadie", "sebastian seb bas", "sidney sid", "sophia sophie", "stanley stan", "stephanie steph stephie", "stephen steve stevie", "steven steve stevie",
	"stewart stew stu", "stuart stu", "susan sue susie suzy", "susanna sue susie", "suzanne sue suzy", "tabitha tabby", "tamara tammy", "terence terry", "theodore ted teddy theo", "theresa terry tess tessa", "teresa terry tess",
	"thomas tom tommy", "timothy tim timmy", "tobias toby", "valerie val", "vanessa nessa", "veronica ronnie vero", "victor vic", "victoria vicky vicki tori", "vincent vince vinny", "virginia ginny", "vivian viv", "walter walt wally",
	"wesley wes", "wilfred wilf fred", "william will bill billy liam willie", "winifred winnie", "zachary zach zack", "ignacio nacho", "jose pepe", "dolores lola", "guillermo memo", "aleksandr sasha", "aleksandra sasha", "dmitri dima",
	"mikhail misha", "natalia natasha", "maksim max", "mohammed mo", "mohamed mo", "muhammad mo", "kubernetes k8s", "postgresql postgres", "javascript js", "typescript ts",
}
