"""Stop words of English and fifteen other languages: the lists of spaCy 3.8.

The lists are copied here because importing spaCy and sixteen of its languages takes seconds.
"""

# The lists are part of spaCy, whose licence is this.
#
# The MIT License (MIT)
#
# Copyright (C) 2016-2024 ExplosionAI GmbH, 2016 spaCy GmbH, 2015 Matthew Honnibal
#
# Permission is hereby granted, free of charge, to any person obtaining a copy
# of this software and associated documentation files (the "Software"), to deal
# in the Software without restriction, including without limitation the rights
# to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
# copies of the Software, and to permit persons to whom the Software is
# furnished to do so, subject to the following conditions:
#
# The above copyright notice and this permission notice shall be included in
# all copies or substantial portions of the Software.
#
# THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
# IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
# FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
# AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
# LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
# OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
# THE SOFTWARE.

from __future__ import annotations

STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "en": """
            'd 'll 'm 're 's 've a about above across after afterwards again against all almost
            alone along already also although always am among amongst amount an and another any
            anyhow anyone anything anyway anywhere are around as at back be became because become
            becomes becoming been before beforehand behind being below beside besides between beyond
            both bottom but by ca call can cannot could did do does doing done down due during each
            eight either eleven else elsewhere empty enough even ever every everyone everything
            everywhere except few fifteen fifty first five for former formerly forty four from front
            full further get give go had has have he hence her here hereafter hereby herein hereupon
            hers herself him himself his how however hundred i if in indeed into is it its itself
            just keep last latter latterly least less made make many may me meanwhile might mine
            more moreover most mostly move much must my myself n't name namely neither never
            nevertheless next nine no nobody none noone nor not nothing now nowhere n‘t n’t of off
            often on once one only onto or other others otherwise our ours ourselves out over own
            part per perhaps please put quite rather re really regarding same say see seem seemed
            seeming seems serious several she should show side since six sixty so some somehow
            someone something sometime sometimes somewhere still such take ten than that the their
            them themselves then thence there thereafter thereby therefore therein thereupon these
            they third this those though three through throughout thru thus to together too top
            toward towards twelve twenty two under unless until up upon us used using various very
            via was we well were what whatever when whence whenever where whereafter whereas whereby
            wherein whereupon wherever whether which while whither who whoever whole whom whose why
            will with within without would yet you your yours yourself yourselves ‘d ‘ll ‘m ‘re ‘s
            ‘ve ’d ’ll ’m ’re ’s ’ve
        """,
        "de": """
            a ab aber ach acht achte achten achter achtes ag alle allein allem allen aller
            allerdings alles allgemeinen als also am an andere anderem anderen andern anders auch
            auf aus ausser ausserdem außer außerdem bald bei beide beiden beim beispiel bekannt
            bereits besonders besser besten bin bis bisher bist da dabei dadurch dafür dagegen daher
            dahin dahinter damals damit danach daneben dank dann daran darauf daraus darf darfst
            darin darum darunter darüber das dasein daselbst dass dasselbe davon davor dazu
            dazwischen daß dein deine deinem deiner dem dementsprechend demgegenüber demgemäss
            demgemäß demselben demzufolge den denen denn denselben der deren derjenige derjenigen
            dermassen dermaßen derselbe derselben des deshalb desselben dessen deswegen dich die
            diejenige diejenigen dies diese dieselbe dieselben diesem diesen dieser dieses dir doch
            dort drei drin dritte dritten dritter drittes du durch durchaus durfte durften dürfen
            dürft eben ebenso ehrlich eigen eigene eigenen eigener eigenes ein einander eine einem
            einen einer eines einige einigen einiger einiges einmal einmaleins elf en ende endlich
            entweder er erst erste ersten erster erstes es etwa etwas euch früher fünf fünfte
            fünften fünfter fünftes für gab ganz ganze ganzen ganzer ganzes gar gedurft gegen
            gegenüber gehabt gehen geht gekannt gekonnt gemacht gemocht gemusst genug gerade gern
            gesagt geschweige gewesen gewollt geworden gibt ging gleich gross grosse grossen grosser
            grosses groß große großen großer großes gut gute guter gutes habe haben habt hast hat
            hatte hatten heisst heißt her heute hier hin hinter hoch hätte hätten ich ihm ihn ihnen
            ihr ihre ihrem ihren ihrer ihres im immer in indem infolgedessen ins irgend ist ja jahr
            jahre jahren je jede jedem jeden jeder jedermann jedermanns jedoch jemand jemandem
            jemanden jene jenem jenen jener jenes jetzt kam kann kannst kaum kein keine keinem
            keinen keiner kleine kleinen kleiner kleines kommen kommt konnte konnten kurz können
            könnt könnte lang lange leicht leider lieber los machen macht machte mag magst man
            manche manchem manchen mancher manches mehr mein meine meinem meinen meiner meines mich
            mir mit mittel mochte mochten morgen muss musst musste mussten muß möchte mögen möglich
            mögt müssen müsst na nach nachdem nahm natürlich neben nein neue neuen neun neunte
            neunten neunter neuntes nicht nichts nie niemand niemandem niemanden noch nun nur ob
            oben oder offen oft ohne recht rechte rechten rechter rechtes richtig rund sagt sagte
            sah satt schlecht schon sechs sechste sechsten sechster sechstes sehr sei seid seien
            sein seine seinem seinen seiner seines seit seitdem selbst sich sie sieben siebente
            siebenten siebenter siebentes siebte siebten siebter siebtes sind so solang solche
            solchem solchen solcher solches soll sollen sollte sollten sondern sonst sowie später
            statt tag tage tagen tat teil tel trotzdem tun uhr um und uns unser unsere unserer unter
            vergangene vergangenen viel viele vielem vielen vielleicht vier vierte vierten vierter
            viertes vom von vor wahr wann war waren wart warum was wegen weil weit weiter weitere
            weiteren weiteres welche welchem welchen welcher welches wem wen wenig wenige weniger
            weniges wenigstens wenn wer werde werden werdet wessen wie wieder will willst wir wird
            wirklich wirst wo wohl wollen wollt wollte wollten worden wurde wurden während
            währenddem währenddessen wäre würde würden zehn zehnte zehnten zehnter zehntes zeit zu
            zuerst zugleich zum zunächst zur zurück zusammen zwanzig zwar zwei zweite zweiten
            zweiter zweites zwischen á über überhaupt übrigens
        """,
        "fr": """
            a abord afin ah ai aie ainsi ait allaient allons alors anterieur anterieure anterieures
            antérieur antérieure antérieures apres après as assez attendu au aupres auquel aura
            auraient aurait auront aussi autre autrement autres autrui aux auxquelles auxquels
            avaient avais avait avant avec avoir avons ayant bas basee bat c' car ce ceci cela celle
            celle-ci celle-la celle-là celles celles-ci celles-la celles-là celui celui-ci celui-la
            celui-là cent cependant certain certaine certaines certains certes ces cet cette ceux
            ceux-ci ceux-là chacun chacune chaque chez ci cinq cinquantaine cinquante cinquantième
            cinquième combien comme comment compris concernant c’ d' da dans de debout dedans dehors
            deja dejà delà depuis derriere derrière des desormais desquelles desquels dessous dessus
            deux deuxième deuxièmement devant devers devra different differente differentes
            differents différent différente différentes différents dire directe directement dit dite
            dits divers diverse diverses dix dix-huit dix-neuf dix-sept dixième doit doivent donc
            dont douze douzième du duquel durant dès déja déjà désormais d’ effet egalement eh elle
            elle-meme elle-même elles elles-memes elles-mêmes en encore enfin entre envers environ
            es est et etaient etais etait etant etc etre eu eux eux-mêmes exactement excepté facon
            fais faisaient faisant fait façon feront font gens ha hem hep hi ho hormis hors hou houp
            hue hui huit huitième hé i il ils importe j' je jusqu jusque juste j’ l' la laisser
            laquelle le lequel les lesquelles lesquels leur leurs longtemps lors lorsque lui
            lui-meme lui-même là lès l’ m' ma maint maintenant mais malgre malgré me meme memes
            merci mes mien mienne miennes miens mille moi moi-meme moi-même moindres moins mon même
            mêmes m’ n' na ne neanmoins neuvième ni nombreuses nombreux nos notamment notre nous
            nous-mêmes nouveau nul néanmoins nôtre nôtres n’ o on ont onze onzième or ou ouias ouste
            outre ouvert ouverte ouverts où par parce parfois parle parlent parler parmi partant pas
            pendant pense permet personne peu peut peuvent peux plus plusieurs plutot plutôt
            possible possibles pour pourquoi pourrais pourrait pouvait prealable precisement premier
            première premièrement pres procedant proche près préalable précisement pu puis puisque
            qu' quand quant quant-à-soi quarante quatorze quatre quatre-vingt quatrième
            quatrièmement que quel quelconque quelle quelles quelqu'un quelque quelques quels qui
            quiconque quinze quoi quoique qu’ relative relativement rend rendre restant reste
            restent retour revoici revoila revoilà s' sa sait sans sauf se seize selon semblable
            semblaient semble semblent sent sept septième sera seraient serait seront ses seul seule
            seulement seules seuls si sien sienne siennes siens sinon six sixième soi soi-meme
            soi-même soit soixante son sont sous souvent specifique specifiques spécifique
            spécifiques stop suffisant suffisante suffit suis suit suivant suivante suivantes
            suivants suivre sur surtout s’ t' ta tant te tel telle tellement telles tels tenant tend
            tenir tente tes tien tienne tiennes tiens toi toi-meme toi-même ton touchant toujours
            tous tout toute toutes treize trente tres trois troisième troisièmement très tu té t’ un
            une unes uns va vais vas vers via vingt voici voila voilà vont vos votre votres vous
            vous-mêmes vu vé vôtre vôtres y à â ça ès également étaient étais était étant être ô
        """,
        "es": """
            a acuerdo adelante ademas además afirmó agregó ahi ahora ahí al algo alguna algunas
            alguno algunos algún alli allí alrededor ambos ante anterior antes apenas
            aproximadamente aquel aquella aquellas aquello aquellos aqui aquél aquélla aquéllas
            aquéllos aquí arriba aseguró asi así atras aun aunque añadió aún bajo bastante bien
            breve buen buena buenas bueno buenos cada casi cierta ciertas cierto ciertos cinco claro
            comentó como con conmigo conocer conseguimos conseguir considera consideró consigo
            consigue consiguen consigues contigo contra creo cual cuales cualquier cuando cuanta
            cuantas cuanto cuantos cuatro cuenta cuál cuáles cuándo cuánta cuántas cuánto cuántos
            cómo da dado dan dar de debajo debe deben debido decir dejó del delante demasiado demás
            dentro deprisa desde despacio despues después detras detrás dia dias dice dicen dicho
            dieron diez diferente diferentes dijeron dijo dio doce donde dos durante día días dónde
            e el ella ellas ello ellos embargo en encima encuentra enfrente enseguida entonces entre
            era eramos eran eras eres es esa esas ese eso esos esta estaba estaban estado estados
            estais estamos estan estar estará estas este esto estos estoy estuvo está están excepto
            existe existen explicó expresó fin final fue fuera fueron fui fuimos gran grande grandes
            ha haber habia habla hablan habrá había habían hace haceis hacemos hacen hacer hacerlo
            haces hacia haciendo hago han hasta hay haya he hecho hemos hicieron hizo hoy hubo igual
            incluso indicó informo informó ir junto la lado largo las le les llegó lleva llevar lo
            los luego mal manera manifestó mas mayor me mediante medio mejor mencionó menos menudo
            mi mia mias mientras mio mios mis misma mismas mismo mismos modo mucha muchas mucho
            muchos muy más mí mía mías mío míos nada nadie ni ninguna ningunas ninguno ningunos
            ningún no nos nosotras nosotros nuestra nuestras nuestro nuestros nueva nuevas nueve
            nuevo nuevos nunca o ocho once os otra otras otro otros para parece parte partir pasada
            pasado paìs peor pero pesar poca pocas poco pocos podeis podemos poder podria podriais
            podriamos podrian podrias podrá podrán podría podrían poner por porque posible primer
            primera primero primeros pronto propia propias propio propios proximo próximo próximos
            pudo pueda puede pueden puedo pues qeu que quedó queremos quien quienes quiere quiza
            quizas quizá quizás quién quiénes qué realizado realizar realizó repente respecto sabe
            sabeis sabemos saben saber sabes salvo se sea sean segun segunda segundo según seis ser
            sera será serán sería señaló si sido siempre siendo siete sigue siguiente sin sino sobre
            sois sola solamente solas solo solos somos son soy su supuesto sus suya suyas suyo suyos
            sé sí sólo tal tambien también tampoco tan tanto tarde te temprano tendrá tendrán teneis
            tenemos tener tenga tengo tenido tenía tercera tercero ti tiene tienen toda todas
            todavia todavía todo todos total tras trata través tres tu tus tuvo tuya tuyas tuyo
            tuyos tú u ultimo un una unas uno unos usa usais usamos usan usar usas uso usted ustedes
            va vais vamos van varias varios vaya veces ver verdad verdadera verdadero vez vosotras
            vosotros voy vuestra vuestras vuestro vuestros y ya yo él ésa ésas ése ésos ésta éstas
            éste éstos última últimas último últimos
        """,
        "it": """
            a abbastanza abbia abbiamo abbiano abbiate accidenti ad adesso affinche agl agli ahime
            ahimè ai al alcuna alcuni alcuno all alla alle allo allora altri altrimenti altro
            altrove altrui anche ancora anni anno ansa anticipo assai attesa attraverso avanti
            avemmo avendo avente aver avere averlo avesse avessero avessi avessimo aveste avesti
            avete aveva avevamo avevano avevate avevi avevo avrai avranno avrebbe avrebbero avrei
            avremmo avremo avreste avresti avrete avrà avrò avuta avute avuti avuto basta bene
            benissimo brava bravo c' casa caso cento certa certe certi certo che chi chicchessia
            chiunque ci ciascuna ciascuno cima cio cioe circa citta città co codesta codesti codesto
            cogli coi col colei coll coloro colui come cominci comunque con concernente conciliarsi
            conclusione consiglio contro cortesia cos cosa cosi così cui d' da dagl dagli dai dal
            dall dall' dalla dalle dallo dappertutto davanti degl degli dei del dell dell' della
            delle dello dentro detto deve di dice dietro dire dirimpetto diventa diventare diventato
            dopo dov dove dovra dovrà dovunque due dunque durante e ebbe ebbero ebbi ecc ecco ed
            effettivamente egli ella entrambi eppure era erano eravamo eravate eri ero esempio esse
            essendo esser essere essi ex fa faccia facciamo facciano facciate faccio facemmo facendo
            facesse facessero facessi facessimo faceste facesti faceva facevamo facevano facevate
            facevi facevo fai fanno farai faranno fare farebbe farebbero farei faremmo faremo
            fareste faresti farete farà farò fatto favore fece fecero feci fin finalmente finche
            fine fino forse forza fosse fossero fossi fossimo foste fosti fra frattempo fu fui fummo
            fuori furono futuro generale gia giacche giorni giorno già gl' gli gliela gliele glieli
            glielo gliene governo grande grazie gruppo ha haha hai hanno ho ieri il improvviso in
            inc infatti inoltre insieme intanto intorno invece io l' la lasciato lato lavoro le lei
            li lo lontano loro lui lungo luogo là m' ma macche magari maggior mai male malgrado
            malissimo mancanza marche me medesimo mediante meglio meno mentre mesi mezzo mi mia mie
            miei mila miliardi milioni minimi ministro mio modo molti moltissimo molto momento mondo
            mosto nazionale ne negl negli nei nel nell nella nelle nello nemmeno neppure nessun
            nessun' nessuna nessuno nient' niente no noi non nondimeno nonostante nonsia nostra
            nostre nostri nostro novanta nove nulla nuovo od oggi ogni ognuna ognuno oltre oppure
            ora ore osi ossia ottanta otto paese parecchi parecchie parecchio parte partendo peccato
            peggio per perche perché percio perciò perfino pero persino persone però piedi pieno
            piglia piu piuttosto più po pochissimo poco poi poiche possa possedere posteriore posto
            potrebbe preferibilmente presa press prima primo principalmente probabilmente proprio
            puo pure purtroppo può qualche qualcosa qualcuna qualcuno quale quali qualunque quando
            quanta quante quanti quanto quantunque quasi quattro quel quel' quella quelle quelli
            quello quest quest' questa queste questi questo qui quindi realmente recente
            recentemente registrazione relativo riecco s' salvo sara sarai saranno sarebbe sarebbero
            sarei saremmo saremo sareste saresti sarete saro sarà sarò scola scopo scorso se secondo
            seguente seguito sei sembra sembrare sembrato sembri sempre senza sette si sia siamo
            siano siate siete sig solito solo soltanto sono sopra sotto spesso srl sta stai stando
            stanno starai staranno starebbe starebbero starei staremmo staremo stareste staresti
            starete starà starò stata state stati stato stava stavamo stavano stavate stavi stavo
            stemmo stessa stesse stessero stessi stessimo stesso steste stesti stette stettero
            stetti stia stiamo stiano stiate sto su sua subito successivamente successivo sue sugl
            sugli sui sul sull sulla sulle sullo suo suoi t' tale tali talvolta tanto te tempo ti
            titolo tra tranne tre trenta troppo trovato tu tua tue tuo tuoi tutta tuttavia tutte
            tutti tutto uguali ulteriore ultimo un un' una uno uomo v' va vale vari varia varie
            vario verso vi via vicino visto vita voi volta volte vostra vostre vostri vostro è
        """,
        "pt": """
            a acerca ademais adeus agora ainda algo algumas alguns ali além ambas ambos antes ao aos
            apenas apoia apoio apontar após aquela aquelas aquele aqueles aqui aquilo as assim
            através atrás até aí baixo bastante bem boa bom breve cada caminho catorze cedo cento
            certamente certeza cima cinco coisa com como comprida comprido conhecida conhecido
            conselho contra contudo corrente cuja cujo custa cá da daquela daquele dar das de
            debaixo demais dentro depois des desde dessa desse desta deste deve devem deverá dez
            dezanove dezasseis dezassete dezoito diante direita disso diz dizem dizer do dois dos
            doze duas dá dão e ela elas ele eles em embora enquanto entre então era essa essas esse
            esses esta estado estar estará estas estava este estes esteve estive estivemos estiveram
            estiveste estivestes estou está estás estão eu eventual exemplo falta fará favor faz
            fazeis fazem fazemos fazer fazes fazia faço fez fim final foi fomos for fora foram forma
            foste fostes fui geral grande grandes grupo inclusive iniciar inicio ir irá isso isto já
            lado lhe ligado local logo longe lugar lá maior maioria maiorias mais mal mas me meio
            menor menos meses mesmo meu meus mil minha minhas momento muito muitos máximo mês na
            nada naquela naquele nas nem nenhuma nessa nesse nesta neste no nos nossa nossas nosso
            nossos nova novas nove novo novos num numa nunca nuns não nível nós número números o
            obrigada obrigado oitava oitavo oito onde ontem onze ora os ou outra outras outros para
            parece parte partir pegar pela pelas pelo pelos perto pode podem poder poderá podia pois
            ponto pontos por porquanto porque porquê portanto porém posição possivelmente posso
            possível pouca pouco povo primeira primeiro próprio próxima próximo puderam pôde põe
            põem quais qual qualquer quando quanto quarta quarto quatro que quem quer querem quero
            questão quieta quieto quinta quinto quinze quê relação sabe saber se segunda segundo sei
            seis sem sempre ser seria sete seu seus sexta sexto sim sistema sob sobre sois somente
            somos sou sua suas são sétima sétimo só tais tal talvez também tanta tanto tarde te tem
            temos tempo tendes tenho tens tentar tentaram tente tentei ter terceira terceiro teu
            teus teve tipo tive tivemos tiveram tiveste tivestes toda todas todo todos treze três tu
            tua tuas tudo tão têm um uma umas uns usa usar vai vais valor veja vem vens ver vez
            vezes vinda vindo vinte você vocês vos vossa vossas vosso vossos vários vão vêm vós zero
            à às área é és último
        """,
        "nl": """
            't aan aangaande aangezien achter achterna af afgelopen al aldus alhoewel alle allebei
            alleen allen alles als altijd ander andere anderen anders anderzijds behalve beide
            beiden ben beneden bent bepaald beter betere betreffende bij bijna bijvoorbeeld binnen
            binnenin boven bovenal bovendien bovenstaand buiten daar daarheen daarin daarna daarnet
            daarom daarop dan dat de den der des deze dezelfde dezen die dien dikwijls dit doch doen
            doet door doorgaand doorgaans dus echter een eens eerder eerst eerste eersten effe eigen
            elk elke en enige enkel enkele enz er erdoor etc even eveneens evenwel ff gauw ge
            gedurende geen gegeven gehad geheel gekund geleden gelijk gemogen geven geweest gewoon
            gewoonweg geworden gij haar had hadden hare heb hebben hebt heeft hele hem hen het hier
            hierbeneden hierboven hierin hij hoe hoewel hun idd ieder iemand iets ik ikke ikzelf in
            indien inmiddels inz inzake is ja je jezelf jij jijzelf jou jouw jouwe juist jullie kan
            klaar kon konden krachtens kunnen kunt lang later liet liever maar mag me mede meer
            meesten men met mezelf mij mijn mijzelf min minder misschien mocht mochten moest moesten
            moet moeten mogelijk mogen na naar nabij nadat net niet niets nog nogal nooit nr nu of
            om omdat omhoog omlaag omstreeks omtrent omver onder ondertussen ongeveer ons onszelf
            onze ooit ook op opdat opnieuw opzij over overigens pas pp precies prof publ reeds rond
            rondom sedert sinds sindsdien slechts sommige spoedig steeds tamelijk te tegen ten
            tenzij ter terwijl thans tijdens toch toe toen tot totdat tussen u uit uitgezonderd uw
            uwe uwen vaak van vanaf vandaan vanuit vanwege veel veeleer verder verre vervolgens vgl
            volgens voor vooraf vooral vooralsnog voorbij voordat voordien voorheen voorop voort
            voorts vooruit vrij vroeg waar waarom wanneer want waren was wat we weer weg wegens
            weinig weinige wel weldra welk welke welken werd werden wezen wie wiens wier wij wil
            wilde worden wordt zal ze zeer zei zeker zekere zelf zelfde zelfs zich zichzelf zij zijn
            zijnde zijne zo zoals zodra zonder zou zouden zoveel zowat zo’n zulk zulke zulks zullen
            zult ‘t
        """,
        "sv": """
            aderton adertonde adjö aldrig alla allas allt alltid alltså andra andras annan annat
            arton artonde att av bakom bara behöva behövas behövde behövt beslut beslutat beslutit
            bland blev bli blir blivit bort borta bra bäst bättre båda bådas dag dagar dagarna dagen
            de del delen dem den deras dess det detta dig din dina dit ditt dock du där därför då
            efter eftersom elfte eller elva en enkel enkelt enkla enligt er era ert ett ettusen
            fanns fem femte femtio femtionde femton femtonde fick fin finnas finns fjorton fjortonde
            fjärde fler flera flesta fram framför från fyra fyrtio fyrtionde få får fått följande
            för före förlåt förra första genast genom gick gjorde gjort god goda godare godast gott
            gälla gäller gällt gärna gå går gått gör göra ha hade haft han hans har heller hellre
            helst helt henne hennes hit hon honom hundra hundraen hundraett hur här hög höger högre
            högst i ibland idag igen igår imorgon in inför inga ingen ingenting inget innan inne
            inom inte inuti ja jag jämfört kan kanske knappast kom komma kommer kommit kr kunde
            kunna kunnat kvar legat ligga ligger lika likställd likställda lilla lite liten litet
            länge längre längst lätt lättare lättast långsam långsammare långsammast långsamt långt
            man med mellan men mer mera mest mig min mina mindre minst mitt mittemot mot mycket
            många måste möjlig möjligen möjligt möjligtvis ned nederst nedersta nedre nej ner ni nio
            nionde nittio nittionde nitton nittonde nog noll nr nu nummer när nästa någon någonting
            något några nödvändig nödvändiga nödvändigt nödvändigtvis och också ofta oftast olika
            olikt om oss på rakt redan rätt sade sagt samma sedan senare senast sent sex sextio
            sextionde sexton sextonde sig sin sina sist sista siste sitt sju sjunde sjuttio
            sjuttionde sjutton sjuttonde sjätte ska skall skulle slutligen små smått snart som stor
            stora stort större störst säga säger sämre sämst så tack tidig tidigare tidigast tidigt
            till tills tillsammans tio tionde tjugo tjugoen tjugoett tjugonde tjugotre tjugotvå
            tjungo tolfte tolv tre tredje trettio trettionde tretton trettonde två tvåhundra under
            upp ur ursäkt ut utan utanför ute vad var vara varför varifrån varit varken varsågod
            vart vem vems verkligen vi vid vidare viktig viktigare viktigast viktigt vilka vilken
            vilket vill vänster vänstra värre vår våra vårt än ännu även åtminstone åtta åttio
            åttionde åttonde över övermorgon överst övre
        """,
        "da": """
            af aldrig alene alle allerede alligevel alt altid anden andet andre at bag begge blandt
            blev blive bliver burde bør da de dem den denne dens der derefter deres derfor derfra
            deri dermed derpå derved det dette dig din dine disse dog du efter egen eller ellers en
            end endnu ene eneste enhver ens enten er et flere flest fleste for foran fordi forrige
            fra få før først gennem gjorde gjort god gør gøre gørende ham han hans har havde have
            hel heller hen hende hendes henover her herefter heri hermed herpå hun hvad hvem hver
            hvilke hvilken hvilkes hvis hvor hvordan hvorefter hvorfor hvorfra hvorhen hvori
            hvorimod hvornår hvorved i igen igennem ikke imellem imens imod ind indtil ingen intet
            jeg jer jeres jo kan kom kommer kun kunne lad langs lav lave lavet lidt lige ligesom
            lille længere man mange med meget mellem men mens mere mest mig min mindre mindst mine
            mit må måske ned nemlig nogen nogensinde noget nogle nok nu ny nyt nær næste næsten og
            også om omkring op os over overalt på samme sammen selv selvom senere ses siden sig sige
            skal skulle som stadig synes syntes så sådan således temmelig tidligere til tilbage tit
            ud uden udover under undtagen var ved vi via vil ville vore vores vær være været øvrigt
        """,
        "nb": """
            alle allerede alt and andre annen annet at av bak bare bedre beste blant ble bli blir
            blitt bris by både da dag de del dem den denne der dermed det dette disse du eller en
            enn er et ett etter fem fikk fire fjor flere folk for fortsatt fra fram funnet få får
            fått før først første gang gi gikk gjennom gjorde gjort gjør gjøre god godt grunn gå går
            ha hadde ham han hans har hele helt henne hennes her hun i ifølge igjen ikke ingen inn
            ja jeg kamp kampen kan kl klart kom komme kommer kontakt kort kroner kunne kveld la
            laget land landet langt leder ligger like litt løpet man mange med meg mellom men mener
            mennesker mens mer mot mye må mål måtte ned neste noe noen nok ny nye nå når og også om
            opp opplyser oss over personer plass poeng på runde rundt sa saken samme sammen samtidig
            satt se seg seks selv senere ser sett siden sier sin sine siste sitt skal skriver skulle
            slik som sted stedet stor store står svært så ta tatt tid tidligere til tilbake tillegg
            tok tror under ut uten utenfor vant var ved veldig vi videre viktig vil ville viser vår
            være vært å år ønsker
        """,
        "fi": """
            aiemmin aika aikaa aikaan aikaisemmin aikaisin aikana aikoina aikoo aikovat aina
            ainakaan ainakin ainoa ainoat aiomme aion aiotte aivan ajan alas alemmas alkuisin alkuun
            alla alle aloitamme aloitan aloitat aloitatte aloitattivat aloitettava aloitettavaksi
            aloitettu aloitimme aloitin aloitit aloititte aloittaa aloittamatta aloitti aloittivat
            alta aluksi alussa alusta annettava annettavaksi annettu ansiosta antaa antamatta antoi
            apu asia asiaa asian asiasta asiat asioiden asioihin asioita asti avuksi avulla avun
            avutta edelle edelleen edellä edeltä edemmäs edes edessä edestä ehkä ei eikä eilen eivät
            eli ellei elleivät ellemme ellen ellet ellette emme en enemmän eniten ennen ensi
            ensimmäinen ensimmäiseksi ensimmäisen ensimmäisenä ensimmäiset ensimmäisiksi
            ensimmäisinä ensimmäisiä ensimmäistä ensin entinen entisen entisiä entisten entistä enää
            eri erittäin erityisesti eräiden eräs eräät esi esiin esillä esimerkiksi et eteen
            etenkin ette ettei että halua haluaa haluamatta haluamme haluan haluat haluatte haluavat
            halunnut halusi halusimme halusin halusit halusitte halusivat halutessa haluton he hei
            heidän heidät heihin heille heillä heiltä heissä heistä heitä helposti heti hetkellä
            hieman hitaasti huolimatta huomenna hyvien hyviin hyviksi hyville hyviltä hyvin hyvinä
            hyvissä hyvistä hyviä hyvä hyvät hyvää hän häneen hänelle hänellä häneltä hänen hänessä
            hänestä hänet häntä ihan ilman ilmeisesti itse itsensä itseään ja jo johon joiden joihin
            joiksi joilla joille joilta joina joissa joista joita joka jokainen jokin joko joksi
            joku jolla jolle jolloin jolta jompikumpi jona jonka jonkin jonne joo jopa jos joskus
            jossa josta jota jotain joten jotenkin jotenkuten jotka jotta jouduimme jouduin jouduit
            jouduitte joudumme joudun joudutte joukkoon joukossa joukosta joutua joutui joutuivat
            joutumaan joutuu joutuvat juuri jälkeen jälleen jää kahdeksan kahdeksannen kahdella
            kahdelle kahdelta kahden kahdessa kahdesta kahta kahteen kai kaiken kaikille kaikilta
            kaikkea kaikki kaikkia kaikkiaan kaikkialla kaikkialle kaikkialta kaikkien kaikkiin
            kaksi kannalta kannattaa kanssa kanssaan kanssamme kanssani kanssanne kanssasi kauan
            kauemmas kaukana kautta kehen keiden keihin keiksi keille keillä keiltä keinä keissä
            keistä keitten keittä keitä keneen keneksi kenelle kenellä keneltä kenen kenenä kenessä
            kenestä kenet kenettä kenties kerran kerta kertaa keskellä kesken keskimäärin ketkä ketä
            kiitos kohti koko kokonaan kolmas kolme kolmen kolmesti koska koskaan kovin kuin kuinka
            kuinkaan kuitenkaan kuitenkin kuka kukaan kukin kumpainen kumpainenkaan kumpi kumpikaan
            kumpikin kun kuten kuuden kuusi kuutta kylliksi kyllä kymmenen kyse liian liki lisäksi
            lisää lla luo luona lähekkäin lähelle lähellä läheltä lähemmäs lähes lähinnä lähtien
            läpi mahdollisimman mahdollista me meidän meidät meihin meille meillä meiltä meissä
            meistä meitä melkein melko menee menemme menen menet menette menevät meni menimme menin
            menit menivät mennessä mennyt menossa mihin miksi mikä mikäli mikään mille milloin
            milloinkan millä miltä minkä minne minua minulla minulle minulta minun minussa minusta
            minut minuun minä missä mistä miten mitkä mitä mitään moi molemmat mones monesti monet
            moni moniaalla moniaalle moniaalta monta muassa muiden muita muka mukaan mukaansa mukana
            mutta muu muualla muualle muualta muuanne muulloin muun muut muuta muutama muutaman
            muuten myöhemmin myös myöskin myöskään myötä ne neljä neljän neljää niiden niihin niiksi
            niille niillä niiltä niin niinä niissä niistä niitä noiden noihin noiksi noilla noille
            noilta noin noina noissa noista noita nopeammin nopeasti nopeiten nro nuo nyt näiden
            näihin näiksi näille näillä näiltä näin näinä näissä näistä näitä nämä ohi oikea
            oikealla oikein ole olemme olen olet olette oleva olevan olevat oli olimme olin olisi
            olisimme olisin olisit olisitte olisivat olit olitte olivat olla olleet ollut oma omaa
            omaan omaksi omalle omalta oman omassa omat omia omien omiin omiksi omille omilta omissa
            omista on onkin onko ovat paikoittain paitsi pakosti paljon paremmin parempi parhaillaan
            parhaiten perusteella peräti pian pieneen pieneksi pienelle pienellä pieneltä pienempi
            pienestä pieni pienin poikki puolesta puolestaan päälle runsaasti saakka sama samaa
            samaan samalla saman samat samoin satojen se seitsemän sekä sen seuraavat siellä sieltä
            siihen siinä siis siitä sijaan siksi sille silloin sillä silti siltä sinne sinua sinulla
            sinulle sinulta sinun sinussa sinusta sinut sinuun sinä sisäkkäin sisällä siten sitten
            sitä ssa sta suoraan suuntaan suuren suuret suuri suuria suurin suurten taa taas taemmas
            tahansa tai takaa takaisin takana takia tallä tapauksessa tarpeeksi tavalla tavoitteena
            te teidän teidät teihin teille teillä teiltä teissä teistä teitä tietysti todella toinen
            toisaalla toisaalle toisaalta toiseen toiseksi toisella toiselle toiselta toisemme
            toisen toisensa toisessa toisesta toista toistaiseksi toki tosin tule tulee tulemme
            tulen tulet tulette tulevat tulimme tulin tulisi tulisimme tulisin tulisit tulisitte
            tulisivat tulit tulitte tulivat tulla tulleet tullut tuntuu tuo tuohon tuoksi tuolla
            tuolle tuolloin tuolta tuon tuona tuonne tuossa tuosta tuota tuskin tykö tähän täksi
            tälle tällä tällöin tältä tämä tämän tänne tänä tänään tässä tästä täten tätä täysin
            täytyvät täytyy täällä täältä ulkopuolella usea useasti useimmiten usein useita uudeksi
            uudelleen uuden uudet uusi uusia uusien uusinta uuteen uutta vaan vai vaiheessa vaikea
            vaikean vaikeat vaikeilla vaikeille vaikeilta vaikeissa vaikeista vaikka vain varmasti
            varsin varsinkin varten vasemmalla vasen vasta vastaan vastakkain vastan verran vielä
            vierekkäin vieressä vieri viiden viime viimeinen viimeisen viimeksi viisi voi voidaan
            voimme voin voisi voit voitte voivat vuoden vuoksi vuosi vuosien vuosina vuotta vähemmän
            vähintään vähiten vähän välillä yhdeksän yhden yhdessä yhteen yhteensä yhteydessä
            yhteyteen yhtä yhtäälle yhtäällä yhtäältä yhtään yhä yksi yksin yksittäin yleensä
            ylemmäs yli ylös ympäri älköön älä
        """,
        "pl": """
            a aby ach acz aczkolwiek aj albo ale alez ależ ani az aż bardziej bardzo beda bede
            bedzie bez bo bowiem by byc byl byla byli bylo byly bym bynajmniej być był była było
            były będzie będą będę cala cali caly cała cały chce choć ci cie ciebie cię co cokolwiek
            coraz cos coś czasami czasem czemu czy czyli często daleko dla dlaczego dlatego do
            dobrze dokad dokąd dosc dość duzo dużo dwa dwaj dwie dwoje dzis dzisiaj dziś gdy gdyby
            gdyz gdyż gdzie gdziekolwiek gdzies gdzieś go godz i ich ile im inna inne inny innych iv
            ix iz iż ja jak jakas jakaś jakby jaki jakichs jakichś jakie jakis jakiz jakiś jakiż
            jakkolwiek jako jakos jakoś je jeden jedna jednak jednakze jednakże jedno jednym jedynie
            jego jej jemu jesli jest jestem jeszcze jezeli jeśli jeżeli juz już ją kazdy każdy kiedy
            kierunku kilka kilku kims kimś kto ktokolwiek ktora ktore ktorego ktorej ktory ktorych
            ktorym ktorzy ktos ktoś która które którego której który których którym którzy ku lecz
            lub ma mają mam mamy mało mi miał miedzy mimo między mna mnie mną moga mogą moi moim moj
            moja moje moze mozliwe mozna może możliwe można mu musi my mój na nad nam nami nas nasi
            nasz nasza nasze naszego naszych natomiast natychmiast nawet nia nic nich nie niech
            niego niej niemu nigdy nim nimi niz nią niż no o obok od ok około on ona one oni ono
            oraz oto owszem pan pana pani po pod podczas pomimo ponad poniewaz ponieważ powinien
            powinna powinni powinno poza prawie przeciez przecież przed przede przedtem przez przy
            raz razie roku rowniez również sam sama sie się skad skąd soba sobie sobą sposob sposób
            swoje są ta tak taka taki takich takie takze także tam te tego tej tel temu ten teraz
            też to toba tobie tobą totez toteż totobą trzeba tu tutaj twoi twoim twoj twoja twoje
            twym twój ty tych tylko tym tys tzw tę u vi vii viii w wam wami was wasi wasz wasza
            wasze we według wie wiele wielu więc więcej wlasnie wszyscy wszystkich wszystkie
            wszystkim wszystko wtedy wy właśnie wśród xi xii xiii xiv xv z za zaden zadna zadne
            zadnych zapewne zawsze zaś ze zeby znow znowu znów zostal został żaden żadna żadne
            żadnych że żeby
        """,
        "cs": """
            a aby ahoj ale alespoň anebo ani aniž ano asi aspoň atd. atp. ačkoli až bez beze blízko
            bohužel brzo bude budeme budete budeš budou budu by byl byla byli bylo byly bys být
            během chce chceme chcete chceš chci chtít chtějí chuti chuť co což cz daleko další den
            deset devatenáct devět dnes do dobrý docela dva dvacet dvanáct dvě dál dále děkovat
            děkujeme děkuji email ho hodně i jak jakmile jako jakož jde je jeden jedenáct jedna
            jedno jednou jedou jeho jehož jej jejich jejichž její jelikož jemu jen jenom jenž jestli
            jestliže ještě jež ji jich jim jimi jinak jiné již jsem jsi jsme jsou jste já jí jím k
            kam každý kde kdo kdy když ke kolik kromě kterak kterou která které který kteří ku kvůli
            mají mezi mi mne mnou mně moc mohl mohou moje moji možná musí my má málo mám máme máte
            máš mé mí mít mě můj může na nad nade naproti načež naše naši ne nebo nebyl nebyla
            nebyli nebyly nechť nedělají nedělá nedělám neděláme neděláte neděláš nejsi nejsou
            nemají nemáme nemáte neměl není nestačí nevadí než nic nich nimi nové noví nový nula nám
            námi nás náš ní ním ně něco nějak někde někdo němu němuž o od ode on ona oni ono ony osm
            osmnáct pak patnáct po pod pokud potom pouze pozdě pořád pravé pro prostě prosím proti
            proto protože proč první právě pět přece před přede přes při přičemž rovně s se sedm
            sedmnáct si sic sice skoro smí smějí snad spolu sta sto strana sté svá své svých svým
            svými svůj ta tady tak takhle taky také takže tam tamto tebe tebou tedy ten tento teď ti
            tisíc tisíce to tobě tohle tohoto tom tomto tomu tomuto toto trochu trošku tu tuto tvoje
            tvá tvé tvůj ty tyto támhle támhleto této tím tímto tě těm těma těmi třeba tři třináct u
            určitě už v vaše vaši ve vedle večer vlastně vy vám vámi vás váš více však všechen
            všechno všichni vůbec vždy z za zatímco zač zda zde ze čau či článek článku články
            čtrnáct čtyři šest šestnáct že
        """,
        "ro": """
            a abia acea aceasta această aceea aceeasi aceeași acei aceia acel acela acelasi același
            acele acelea acest acesta aceste acestea acestei acestia acestui aceşti aceştia acolo
            acord acum adica adică ai aia aibă aici aiurea al ala alaturi ale alea alt alta altceva
            altcineva alte altfel alti altii altul alături am anume apai apoi apăi ar are as asa
            asemenea asta astazi astea astfel astăzi asupra atare atat atata atatea atatia ati atit
            atita atitea atitia atunci au avea avem aveţi aveți avut azi aş aşadar aţi aș așadar ați
            b ba bine bucur bună c ca cam cand capat care careia carora caruia cat catre caut ce cea
            ceea cei ceilalti cel cele celor ceva chiar ci cinci cind cine cineva cit cita cite
            citeva citi citiva conform contra cu cui cum cumva curând curînd când cât câte câtva
            câţi câți cînd cît cîte cîtva cîţi cîți că căci cărei căror cărora cărui căruia către d
            da daca dacă dar dat datorită dată dau de deasupra deci decit degraba deja deoarece
            departe desi despre deunaseara deunazi deunăseară deunăzi deşi deși din dinaintea
            dincoace dincolo dintr dintr- dintre doar doi doilea două drept dupa după dă e ea ei el
            ele era eram este eu exact eşti ești f face fara fata fel fi fie fiecare fii fim fiu
            fiţi fiți foarte fost frumos fără g geaba graţie grație h i ia iar ieri ii il imi in
            inainte inapoi inca incit incotro insa intr intre isi iti j k l la le li lor lui lângă
            lîngă m ma macar mai mare mata matale mea mei mele mereu meu mi mie mine mod mult multa
            multe multi multă mulţi mulţumesc mulți mulțumesc mâine mîine mă măcar n na ne neincetat
            nevoie neîncetat ni nici nicidecat nicidecum nicidecât niciodata niciodată nicăieri
            nimeni nimeri nimic niste nişte niște noastre noastră noi noroc nostri nostru nou noua
            nouă noştri noștri nu numai o odata odată odinioara odinioară opt or ori oricare orice
            oricine oricum oricând oricât oricînd oricît oriunde p pai parca parcă patra patru
            patrulea pe pentru peste pic pina plus poate pot prea prima primul prin printr- printre
            putini puţin puţina puţină până pînă păi r rog s sa sa-mi sa-ti sai sale sau se si sint
            sintem spate spre sub sunt suntem sunteţi sunteți sus sută sînt sîntem sînteţi sînteți
            să săi său t ta tale te ti timp tine toata toate toată tocmai tot toti totul totusi
            totuşi totuși toţi toți trei treia treilea tu tuturor tăi tău u ul ului un una unde
            undeva unei uneia unele uneori unii unor unora unu unui unuia unul v va vai vi voastre
            voastră voi vom vor vostru vouă voştri voștri vreme vreo vreun vă x z zece zero zi zice
            îi îl îmi împotriva în înainte înaintea încotro încât încît între întrucât întrucît îţi
            îți ăla ălea ăsta ăstea ăştia ăștia şapte şase şi ştiu ţi ţie șapte șase și știu ți ție
        """,
        "hu": """
            a abban ahhoz ahogy ahol aki akik akkor akár alatt amely amelyek amelyekben amelyeket
            amelyet amelynek ami amikor amit amolyan amíg annak arra arról az azok azon azonban azt
            aztán azután azzal azért be belül benne bár cikk cikkek cikkeket csak de e ebben eddig
            egy egyes egyetlen egyik egyre egyéb egész ehhez ekkor el ellen elo eloször elott elso
            elég előtt emilyen ennek erre ez ezek ezen ezt ezzel ezért fel felé ha hanem hiszen hogy
            hogyan hát ide igen ill ill. illetve ilyen ilyenkor inkább is ismét ison itt jobban jó
            jól kell kellett keressünk keresztül ki kívül között közül le legalább legyen lehet
            lehetett lenne lenni lesz lett ma maga magát majd meg mellett mely melyek mert mi miatt
            mikor milyen minden mindenki mindent mindig mint mintha mit mivel miért mondta most már
            más másik még míg nagy nagyobb nagyon ne nekem neki nem nincs néha néhány nélkül o oda
            ok oket olyan ott pedig persze például rá s saját sem semmi sok sokat sokkal stb.
            szemben szerint szinte számára szét talán te tehát teljes ti tovább továbbá több túl
            ugyanis utolsó után utána vagy vagyis vagyok valaki valami valamint való van vannak vele
            vissza viszont volna volt voltak voltam voltunk által általában át én éppen és így ön
            össze úgy új újabb újra ő őket
        """,
        "tr": """
            acaba acep adamakıllı adeta ait ama amma anca ancak arada artık aslında aynen ayrıca az
            açıkça açıkçası bana bari bazen bazı bazısı bazısına bazısında bazısından bazısını
            bazısının başka başkası başkasına başkasında başkasından başkasını başkasının belki ben
            bende benden beni benim beri beriki berikinin berikiyi berisi bilcümle bile binaen
            binaenaleyh biraz birazdan birbiri birbirinde birbirinden birbirine birbirini birbirinin
            birden birdenbire biri birice birileri birilerinde birilerinden birilerine birilerini
            birilerinin birinde birinden birine birini birinin birisi birisinde birisinden birisine
            birisini birisinin birkaç birkaçı birkaçına birkaçında birkaçından birkaçını birkaçının
            birkez birlikte birçok birçoğu birçoğuna birçoğunda birçoğundan birçoğunu birçoğunun
            birşey birşeyi bitevi biteviye bittabi biz bizatihi bizce bizcileyin bizden bize bizi
            bizim bizimki bizzat boşuna bu buna bunda bundan bunlar bunları bunların bunu bunun
            buracıkta burada buradan burası burasına burasında burasından burasını burasının böyle
            böylece böylecene böylelikle böylemesine böylesine büsbütün bütün cuk cümlemizden
            cümlemize cümlemizi cümlesi cümlesinden cümlesine cümlesini cümlesinin da daha dahası
            dahi dahil dahilen daima dair dayanarak de defa dek demin demincek deminden denli
            derakap derhal derken değil değin diye diğer diğeri diğerinden diğerine diğerini dolayı
            dolayısıyla doğru edecek eden ederek edilecek ediliyor edilmesi ediyor elbet elbette
            emme en enikonu epey epeyce epeyi esasen esnasında etmesi etraflı etraflıca etti ettiği
            ettiğini evleviyetle evvel evvela evvelce evvelden evvelemirde evveli eğer fakat filanca
            filancanın gah gayet gayetle gayri gayrı gelgelelim gene gerek gerçi geçende geçenlerde
            gibi gibilerden gibisinden gine göre gırla hakeza halbuki halen halihazırda haliyle
            handiyse hangi hangisi hangisinde hangisinden hangisine hani hariç hasebiyle hasılı
            hatta hele hem henüz hep hepsi hepsinde hepsinden hepsini hepsinin her herhangi herkes
            herkesi herkesin herkesten hiç hiçbir hiçbiri hiçbirinde hiçbirinden hiçbirine hiçbirini
            hiçbirinin hoş hulasaten iken ila ile ilen ilgili ilk illa illaki imdi indinde inen
            insermi ise ister itibaren itibariyle itibarıyla iyi iyice iyicene için iş işte kadar
            kaffesi kah kala kanımca karşın kaynak kaçı kaçına kaçında kaçından kaçını kaçının kelli
            kendi kendilerinde kendilerinden kendilerine kendilerini kendilerinin kendini kendisi
            kendisinde kendisinden kendisine kendisini kendisinin kere kez keza kezalik keşke ki kim
            kimden kime kimi kiminin kimisi kimisinde kimisinden kimisine kimisinin kimse kimsecik
            kimsecikler külliyen kısaca kısacası lakin leh lütfen maada madem mademki mamafih mebni
            međer meğer meğerki meğerse mi mu mü mı nasıl nasılsa nazaran naşi ne neden nedeniyle
            nedenle nedenler nedenlerden nedense nerde nerden nerdeyse nere nerede nereden neredeyse
            neresi nereye netekim neye neyi neyse nice nihayet nihayetinde nitekim niye niçin o olan
            olarak oldu olduklarını oldukça olduğu olduğunu olmak olması olsa olsun olup olur olursa
            oluyor ona onca onculayın onda ondan onlar onlara onlardan onları onların onu onun ora
            oracık oracıkta orada oradan oranca oranla oraya oysa oysaki pek pekala peki pekçe
            peyderpey rağmen sadece sahi sahiden sana sanki sen senden seni senin siz sizden sizi
            sizin sonra sonradan sonraları sonunda tabii tam tamam tamamen tamamıyla tarafından tek
            tüm var vardı vasıtasıyla ve velev velhasıl velhasılıkelam veya veyahut ya yahut yakinen
            yakında yakından yakınlarda yalnız yalnızca yani yapacak yapmak yaptı yaptıkları yaptığı
            yaptığını yapılan yapılması yapıyor yeniden yenilerde yerine yine yok yoksa yoluyla
            yüzünden zarfında zaten zati zira çabuk çabukça çeşitli çok çokları çoklarınca çokluk
            çoklukla çokça çoğu çoğun çoğunca çoğunda çoğundan çoğunlukla çoğunu çoğunun çünkü öbür
            öbürkü öbürü öbüründe öbüründen öbürüne öbürünü önce önceden önceleri öncelikle öteki
            ötekisi öyle öylece öylelikle öylemesine öz üzere şayet şey şeyden şeyi şeyler şimdi şu
            şuna şuncacık şunda şundan şunlar şunları şunların şunu şunun şura şuracık şuracıkta
            şurası şöyle
        """,
    }.items()
}
