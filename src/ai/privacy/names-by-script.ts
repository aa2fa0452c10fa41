import { type Finder, namePatternFinder } from './spans.ts';

const capital = "[А-ЯЁІЇЄҐ][а-яёіїєґ']{1,20}(?:-[А-ЯЁ][а-яё]{1,20})?";
const patronymic = '[А-ЯЁ][а-яё]{2,15}(?:(?:ович|евич|ьич)(?:а|у|ем|е)?|(?:овн|евн|ичн|иничн)(?:а|ы|е|у|ой))';
/** Stems of Russian and Ukrainian given names. Names that are words too (Вера, Надежда, Любовь, Роман) are left out. */
const stems = [
  'Анн|Ольг|Елен|Наталь|Натали|Ирин|Татьян|Мари|Екатерин|Юли|Светлан|Людмил|Галин|Виктори|Оксан|Марин|Валентин|Анастаси|Дарь|Алин|Ксени|Полин|Софи|Софь|Кристин|Александр|Евгени|Валери|Ларис|Лиди|Нин|Тамар|Зо|Эльвир|Диан|Алис|Варвар|Елизавет|Жанн|Инн|Алл|Лариса|Раис|Зинаид|Римм|Зарин|Эльмир|Лейл|Гульнар|Айгул',
  'Алексе|Андре|Серге|Никола|Дмитри|Васили|Юри|Анатоли|Григори|Тимофе|Арсени|Матве|Иван|Михаил|Владимир|Максим|Артём|Артем|Денис|Олег|Виктор|Антон|Вадим|Кирилл|Егор|Илья|Ильи|Ильё|Никит|Станислав|Вячеслав|Ярослав|Борис|Фёдор|Федор|Пётр|Петр|Руслан|Тимур|Глеб|Богдан|Леонид|Геннади|Игор|Павел|Павл|Константин|Эдуард|Степан|Семён|Артур|Рустам|Ренат|Марат|Альберт|Ильдар|Камил|Рамиль|Азамат|Вазген',
  'Саш|Маш|Даш|Наташ|Лен|Оль|Ол|Тан|Кат|Юл|Ир|Наст|Дим|Серёж|Сереж|Миш|Кол|Вов|Жен|Паш|Ван|Лёш|Леш|Вит|Аленушк|Машеньк',
].join('|');
const endings = '(?:а|я|у|ю|е|и|ы|й|ь|ем|ём|ом|ой|ей|ию|ия|ии|ье|ью|ья|ея|ею|еем)?';
const given = `(?:${stems})${endings}(?![а-яёіїєґ])`;
/** Short forms that are also other words, in lower case or at the beginning of a sentence. */
const noGiven =
  /^(?:Мари|Мир|Лен|Кол|Ир|Кат|Ван|Тан|Вит|Ол|Дим|Зо|Нин|Жен|Паш|Вов|Любов|Любовь|Любови|Марина?д|Лени|Жени|Кола|Колы|Колу|Колой|Коле|Вити|Тане?ц)$/;
const surname =
  '[А-ЯЁІЇЄҐ][а-яёіїєґ]{2,20}(?:ов|ев|ёв|ин|ын|ова|ева|ёва|ина|ына|ову|еву|ину|ой|ым|ого|ому|ский|ская|скую|ского|скому|ским|цкий|цкая|енко|чук|юк|ян|дзе|швили|ых|ich)';
const initial = '[А-ЯЁ]\\.\\s?';
const role =
  '[Вв]рач(?:у|а|ом)?|[Дд]октор(?:у|а|ом)?|[Мм]енеджер(?:у|а|ом)?|[Кк]ассир(?:у|а|ом)?|[Оо]фициант(?:ка|ке|ку|у|а|ом)?|[Сс]отрудни(?:к|ца|це|цу|ку|ка|ком)|[Пп]родав(?:ец|цу|ца|щица)|[Аа]дминистратор(?:у|а|ом)?|[Уу]читель(?:ница|нице)?|[Мм]едсестр(?:а|е|у|ой)|[Вв]одител(?:ь|ю|я|ем)|[Мм]астер(?:у|а|ом)?|[Кк]онсультант(?:у|а|ом)?|[Дд]иректор(?:у|а|ом)?|[Тт]ренер(?:у|а|ом)?|[Гг]-н|[Гг]-жа|[Гг]осподин(?:у|а|ом)?|[Гг]оспож(?:а|е|у|ой)|[Пп]ан(?:і)?|[Тт]ёт[яи]|[Дд]яд[яи]';
const noCyrillicPlace =
  '(?!(?:Площад|Улиц|Парк|Метро|Проспект|Музе|Театр|Станци|Набережн|Нижн|Верхн|Больш|Мал|Нов|Стар|Красн|Север|Южн|Западн|Восточн|Санкт|Росси|Москв))';

/** Towns with the endings of surnames. */
const towns =
  'Росто|Пско|Сарато|Тамбо|Харько|Льво|Крако|Азо|Кие|Кишин|Могил|Дмитро|Серпухо|Чехо|Корол|Рыбинск|Козло|Ковро|Орлов[оа]|Горлов|Иванов[оа](?!й)|Кемеров|Домодедов|Шереметьев|Внуков|Пулков|Сколков|Перов|Бутов';

/**
 * Finds Russian and Ukrainian names: by a patronymic, by initials, by a known given name with a surname beside it,
 * after a profession, and by a capitalised word with the ending of a surname within a sentence, with the capitalised
 * word before it.
 */
export const findCyrillicNames: Finder = (text) => (/[А-ЯЁІЇЄҐ]/.test(text) ? findCyrillic(text) : []);

const findCyrillic = namePatternFinder(
  [
    new RegExp(
      `(?<!\\p{L})((?:(?!Спасибо|Благодар|Хочу|Отдельн|Больш|Врач|Доктор|Уважаем|Дорог)${capital}\\s){0,2}${patronymic}(?:\\s${surname})?)(?!\\p{L})`,
      'dgu',
    ),
    new RegExp(`(?<!\\p{L})(${capital}\\s[А-ЯЁ]\\.(?:\\s?[А-ЯЁ]\\.)|${initial}(?:${initial})?${capital})`, 'dgu'),
    new RegExp(`(?<!\\p{L})(${given}(?:\\s(?!Спасибо|Очень|Всё|Все|Она|Они|Это)${capital})?)(?!\\p{L})`, 'dgu'),
    new RegExp(`(?<!\\p{L})(${surname}\\s${given})(?!\\p{L})`, 'dgu'),
    new RegExp(`(?<!\\p{L})(?:${role})\\s(${capital}(?:\\s${capital}){0,2})`, 'dgu'),
    new RegExp(`(?<=[а-яё,:;]\\s)${noCyrillicPlace}(${capital}\\s${surname})(?!\\p{L})`, 'dgu'),
    new RegExp(`(?<=[а-яё,:;]\\s)(?!${towns})([А-ЯЁ][а-яё]{2,20}(?:[оеё]в(?:а|у|ым|ой)?|енко))(?!\\p{L})`, 'dgu'),
    new RegExp(
      `(?<!\\p{L})(?:[Мм]еня зовут|[Мм]ене звати|[Мм]о[её] имя|[Фф]амилия|ФИО|[Ии]мя)[\\s:-]{1,3}(${capital}(?:\\s${capital}){0,2})`,
      'dgu',
    ),
  ],
  (name) => !noGiven.test(name),
);

const han = '\\p{Script=Han}';
const chinese =
  '王李张刘陈杨黄赵吴周徐孙马朱胡郭何林高罗郑梁谢宋唐许韩冯邓曹彭曾萧田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严張陳楊趙吳孫馬鄭謝許韓馮鄧蕭葉蘇魏呂盧鐘譚陸賈韋鄒龍劉黃羅';
/** Words that end with a character that is also a surname. */
const wordEnds = '(?<=[对對由关關等属屬处處终終至鉴鑒基])于|(?<=[对對处處])方|(?<=任)何|(?<=(?<![谢謝])[谢謝])[谢謝]';
/**
 * Words that begin with a character that is also a surname: those that occur before titles, and those that occur alone.
 */
const beforeTitles =
  '任何|许多|許多|高级|高效|高质|高端|金牌|金额|白天|方便|马上|馬上|段落|万一|万分|周到|周末|周围|程序|程度|谢谢|謝謝|余下|方面|方案|方式|何时|于是|白领|安排|钱包|高中|高等|任课|金融|陈列';
const alone = '高兴|石油|陆续|严格|严重|黄色|白色|毛病|江边|夏天|田地|江南|马路|林立|钱财|汪洋';
const surnames = `(?:欧阳|司马|上官|诸葛|东方|皇甫|尉迟|公孙|慕容|[${chinese}])`;
const titledName = `(?!${wordEnds}|${beforeTitles})${surnames}`;
const chineseName = `(?!${wordEnds}|${beforeTitles}|${alone})${surnames}`;
const chineseTitle =
  '(?:先生|女士|小姐|太太|经理|經理|老师|老師|医生|醫生|医师|护士|師傅|师傅|主任|教授|阿姨|同学|大夫|律师|店长|主管|总监)';
const findChinese = namePatternFinder([
  new RegExp(
    `(?:我叫|我的名字是|我的名字叫|名叫|姓名[:是]?\\s?|名字[:是叫]\\s?)((?:(?!先生|女士|小姐|老师|今年|来自|住在)${han}){2,4})`,
    'dgu',
  ),
  new RegExp(`我姓([${chinese}])(?!${han}名)`, 'dgu'),
  new RegExp(`我是(${chineseName}${han}{1,2})(?!${han})`, 'dgu'),
  new RegExp(`(${titledName}${han}{0,2})${chineseTitle}`, 'dgu'),
  new RegExp(
    `(?:感谢|谢谢|感謝|謝謝|表扬|投诉|客服|店员|服务员|前台|司机|护士|医生|经理|同事|老板|教练|主管|保安|护工|快递员|联系|告诉)(${chineseName}${han}{1,2}?)(?=[，。！,.!\\s]|$|的(?:帮|服|态|耐|热|细|讲)|帮|很|态度|服务|非常|真|对我|给我)`,
    'dgu',
  ),
]);

const japaneseSurname =
  '佐藤|鈴木|高橋|田中|伊藤|渡辺|渡邊|山本|中村|小林|加藤|吉田|山田|佐々木|山口|松本|井上|木村|斎藤|斉藤|清水|山崎|池田|橋本|阿部|石川|前田|藤田|小川|後藤|岡田|長谷川|村上|近藤|石井|坂本|遠藤|青木|藤井|西村|福田|太田|三浦|藤原|岡本|松田|中川|中野|原田|小野|田村|竹内|金子|和田|中山|石田|上田|森田|柴田|酒井|工藤|横山|宮崎|宮本|内田|高木|安藤|谷口|大野|丸山|今井|高田|藤本|武田|村田|上野|杉山|増田|平野|大塚|千葉|久保|松井|小島|岩崎|桜井|野口|松尾|野村|木下|菊地|佐野|大西|杉本|新井|浜田|菅原|市川|水野|小松|島田|古川|山下|中島|片山|川口|川崎|大橋|西川|北村|星野|荒木|本田|樋口|三宅|青山|吉岡|松岡|永井|山内|秋山|川村|吉川|小山|黒田|西田|関口|岩田|服部|土屋|福島|菊池|早川|栗原|広瀬|矢野|馬場|高野|石原|平田|松浦|熊谷|横田|久保田|飯田|桑原|内藤|成田|須藤|富田|小西|堀内|奥村|大川|尾崎|大久保|岩本|田口|望月|牧野|浅野|河野|小田|川上|岡崎|白石|本間|奥田|植田|永田|古賀|長田';
const noJapanesePlace = '(?!県|市|駅|区|町|村|公園|空港|大学|通り|屋|店(?!長|員)|線|城|港|支店|方面)';
const japaneseTitle = '(?:さん|さま|くん|君|ちゃん|様|氏|殿|先生|店長|部長|課長|係長|主任|社長|教授|医師|看護師)';
/** People who are named by their work or place only, and words that end like an honorific: "看護師さん", "同様". */
const noJapanese = new RegExp(
  `(?:${[
    '[員者客業医嫁]',
    '[看護医教容剤理技講牧漁猟健体灸産庭絵仏恩導]師',
    '(?:運転|選|歌|相|助|若|騎|投|捕|野|射|砲|担い|元)手',
    '[店部課係社院園校会班室所館駅次市町村団船機議番隊組寮師婦学局塾家場理]長',
    '[店亭家株飼用雇坊神喪地荷業車船君]主',
    '[護理育計書防養法備生転騎紳修博兵縦築祉務技]士',
    '[両母父片里]親',
    '[職主友恋夫本当住商芸国]人',
    '料理人|案内人|管理人|支配人|世話人',
    '[学校修習験級業]生',
    '親(?:御|子|戚|族|方)',
    '家族|夫婦|夫妻|子供|息子|孫娘|大工|料理|患者|生徒|児童|園児|友達|兄弟|姉妹|若奥|旦那',
    '各位|前回同|従来同|同|異|仕|(?<!相)模|多種多',
    '[女国帝魔法大]王',
    '受付|窓口|担当|係|店舗|会社|企業|工場|農家|お店|本屋|花屋|八百屋|魚屋|肉屋|床屋|薬屋|電気屋|水道屋|不動産屋',
    'スタッフ|フロント|レジ|オーナー|ドライバー|ガイド|マスター|ヘルパー|シェフ|コーチ|トレーナー|インストラクター|マネージャー|ナース|ドクター|メンバー|ユーザー',
  ].join('|')})[達方]?$`,
  'u',
);
const findJapanese: readonly Finder[] = [
  namePatternFinder([
    /(?:私の名前は|名前は|名前[:は]\s?|氏名[:は]\s?)([\p{Script=Han}\p{Script=Katakana}\p{Script=Hiragana}ー]{2,8}?)(?=です|と|、|,|。|\.|\s|$)/dgu,
    new RegExp(
      `(?:私は|わたしは|担当は|担当の|係の|受付の|店員の)((?:${japaneseSurname})${noJapanesePlace}(?:\\s?${han}{1,3})?)`,
      'dgu',
    ),
    new RegExp(
      `((?:${japaneseSurname})${noJapanesePlace}(?:\\s?(?!店|部|課|係|主|社|教|医|看|先|氏|様|君|殿)${han}{1,3})?)\\s?${japaneseTitle}`,
      'dgu',
    ),
    new RegExp(
      `((?:${japaneseSurname})${noJapanesePlace}\\s?(?!店|部|課|係)(?:(?![様氏殿])${han}){2,3})(?=[がをにはもとへでだ、。,.]|から|$)`,
      'dgu',
    ),
    /(?<![\p{Script=Han}お])([林森原堀関岡谷浜星泉島辻菅堤榊橘柳梶])さん/dgu,
  ]),
  namePatternFinder(
    [/((?:[\p{Script=Han}\p{Script=Katakana}ー]){2,6})(?:さん|様(?![式子態相])|先生|ちゃん|くん|氏)/dgu],
    (name) => !noJapanese.test(name),
  ),
];

/** Texts in Han characters only are read as Chinese, unless the honorific or the surname is Japanese. */
const findInHan = namePatternFinder([
  new RegExp(`((?:${japaneseSurname})${noJapanesePlace}(?:\\s?(?!氏|殿)${han}{1,3})?)[氏殿]`, 'dgu'),
]);

const koreanSurname =
  '[김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허유남심노하곽성차주우구민진지엄채원천방공현함변염여추도소석선설마길연위표명기반라왕금옥]';
/** Surnames that are seldom other words before a title, as 이 (this), 전 (former), 장 (sheets) and 조 (team) are. */
const koreanSurnameAlone = '[김박최정강윤임오서황송류홍배허유심곽]';
const koreanTitle =
  '씨|선생님|과장님?|대리님?|팀장님?|교수님|부장님|사장님|원장님|간호사님?|기사님|점장님?|매니저님?|실장님?|회장님';
const koreanEnd = '(?=[가-힣]{0,2}(?![가-힣])|$)';
const noKorean =
  /^(?:고객|선생|기사|주인|원장|강사|여사|이모|고모|조교|어머|이사|전무|장모|지배인|안내원|전문가|이용자|조리사|주방장|정비사|배송원|한의사|임산부|방문객|마음|배달원|고객분|하나|이분|남자|여자|주부|손주|유치원|공무원|연구원|서버|이용|신입|여러분|우리|전부|도우미|방문자|도장|소장|관장|차장|고등|주민|민원|현장|한국|이번|조리|진짜|정말|오늘)/u;
const findKorean: readonly Finder[] = [
  namePatternFinder([/(?:제 이름은|이름[은:])\s?(\p{Script=Hangul}{2,4}?)(?=입니다|이고|예요|이에요|라고|\s|$)/dgu]),
  namePatternFinder(
    [
      new RegExp(
        `(?<!\\p{Script=Hangul})(${koreanSurname}\\p{Script=Hangul}{1,2})\\s?(?:${koreanTitle}|의사|군|양)${koreanEnd}`,
        'dgu',
      ),
      new RegExp(`(?<![\\p{Script=Hangul}\\p{N}])(${koreanSurnameAlone})\\s(?:${koreanTitle})${koreanEnd}`, 'dgu'),
      new RegExp(`(?<!\\p{Script=Hangul})(${koreanSurname}\\p{Script=Hangul}{2})님`, 'dgu'),
      new RegExp(
        `(?<!\\p{Script=Hangul})(${koreanSurname}\\p{Script=Hangul}(?!들)\\p{Script=Hangul})(?:한테|에게)`,
        'dgu',
      ),
      new RegExp(`(?:저는|나는|전)\\s(${koreanSurname}\\p{Script=Hangul}{2})(?=입니다|이라고|라고|예요|이에요)`, 'dgu'),
    ],
    (name) => !noKorean.test(name),
  ),
];

/**
 * Finds Chinese, Japanese and Korean names: introduced as such, or a common surname beside a title, an honorific or
 * thanks.
 */
export const findEastAsianNames: Finder = (text) => [
  ...(/\p{Script=Han}/u.test(text) ? findChinese(text) : []),
  ...(/[\p{Script=Hiragana}\p{Script=Katakana}様]/u.test(text) ? findJapanese : [findInHan]).flatMap((finder) =>
    finder(text),
  ),
  ...(/\p{Script=Hangul}/u.test(text) ? findKorean.flatMap((finder) => finder(text)) : []),
];

/** Letters of Arabic, Persian and Urdu. Expressions with this class need the flag v. */
const arabic = '[\\u0640\\p{M}[\\p{Script=Arabic}&&\\p{L}]]';
const noArabic =
  '(?!(?:في|من|على|إلى|الى|التي|الذي|عند|عن|مع|كان|كانت|هو|هي|لا|لم|قال|قالت|هنا|هناك|جيد|سيئ|المسؤول|المدير|الموظف|المحترم)(?!\\p{L}))';
/** Given names; those that are also everyday words (سعيد, علي, كريم) count only beside a second name. */
const givenArabic =
  'محمد|أحمد|احمد|محمود|مصطفى|إبراهيم|ابراهيم|يوسف|خالد|حسين|عثمان|فاطمة|عائشة|مريم|زينب|خديجة|سارة|ليلى|نورة|ياسمين|طارق|سامي|فيصل|رامي|بلال|حمزة|ناصر|فهد|نوال|هناء|زياد|إسماعيل|اسماعيل|سلمى|رانيا|دينا|عبد\\s?(?:الله|الرحمن|العزيز|الكريم|القادر|الرحيم|المجيد|الحميد|اللطيف|السلام|الناصر)';
const findArabic = namePatternFinder([
  new RegExp(
    `(?<!\\p{L})(?:اسمي|الاسم:?|السيدة|السيد|الدكتورة|الدكتور|الأستاذة|الأستاذ|المهندسة|المهندس|الشيخ|الآنسة|الحاج|الحاجة)\\s${noArabic}(${arabic}{2,20}(?:\\s(?:(?:بن|بنت|أبو|عبد)\\s${arabic}{2,20}|ال${arabic}{2,20}))?)`,
    'dgv',
  ),
  new RegExp(
    `(?<!\\p{L})((?:${arabic}{2,15}\\s)?(?:بن|بنت|أبو)\\s${noArabic}${arabic}{2,15}(?:\\sال${arabic}{2,15})?)(?!\\p{L})`,
    'dgv',
  ),
  new RegExp(
    `(?<!\\p{L})(?:لـ|[ولبف])?((?:${givenArabic})(?:\\s(?:${givenArabic}|علي|سعيد|كريم|حسن|عمر|سلطان|(?:آل|ال)\\s?${arabic}{3,12}(?:ي|ني)))?)(?!\\p{L})`,
    'dgv',
  ),
]);

const hebrew = "[\\u05d0-\\u05ea'׳-]";
const givenHebrew =
  'משה|אברהם|יצחק|יעקב|יוסף|שלמה|שמעון|רחל|רבקה|מיכל|יעל|נועה|תמר|איתן|אורי|רונית|יוסי|דני|עידו|גלעד|אלון|ענת|אסתר|מרים|דבורה|מאיה|עמית|נדב|אריאל|דניאל|יונתן';
const surnameHebrew =
  'כהן|לוי|מזרחי|פרץ|ביטון|דהן|אברהם|פרידמן|אזולאי|מלכה|יוסף|דוד|חדד|גבאי|עמר|שפירא|אוחיון|בן[ -]דוד|בר[ -]לב';
const findHebrew = namePatternFinder([
  new RegExp(
    `(?<!\\p{L})(?:קוראים לי|השם שלי|שמי|מר|גברת|גב[׳']|ד["״]ר|פרופ[׳']|עו["״]ד|הרב)\\s(?!(?:לא|כן|היה|של|עם|טוב)(?!\\p{L}))(${hebrew}{2,20}(?:\\s(?:${surnameHebrew}))?)`,
    'dgu',
  ),
  new RegExp(`(?<!\\p{L})(?:ל|ו|ש|מ|ב)?((?:${givenHebrew})(?:\\s(?:${surnameHebrew}))?)(?!\\p{L})`, 'dgu'),
  new RegExp(`(?<!\\p{L})(${hebrew}{2,12}\\s(?:כהן|לוי|מזרחי|פרידמן|שפירא|אזולאי|ביטון))(?!\\p{L})`, 'dgu'),
]);

/**
 * Finds Arabic and Hebrew names: after a title or a phrase, by a common given name, or by the word between a name and
 * the father's name.
 */
export const findSemiticNames: Finder = (text) => [
  ...(/\p{Script=Arabic}/u.test(text) ? findArabic(text) : []),
  ...(/[\u05d0-\u05ea]/.test(text) ? findHebrew(text) : []),
];
