/** Sentences in which somebody tells something, at the sign #; none has a digit or a sign "@" of its own. */
export const disclosingSentences: readonly string[] = [
  'You will find me at # most days', 'My data: #, please delete it', 'Das bin ich: # und sonst niemand', "C'est # pour moi", 'Lo mío es # y nada más', 'Il mio è # grazie', 'O meu é # obrigado', 'Dat is # dus', 'To jest # dziękuję', 'Это # спасибо', '我的是 # 谢谢', 'こちらは # です', '그것은 # 입니다', 'هذا # شكرا',
  'זה # תודה', 'यह # धन्यवाद', 'Bu # teşekkürler', '(#)', '#',
];

/** Groups of national numbers with the code of the country and what stands before them at home. */
const countries: readonly (readonly [code: string, trunk: string, groups: string])[] = [
  ['1', '', '415 555 0123'], ['44', '0', '20 7946 0958'], ['44', '0', '7700 900123'], ['49', '0', '30 1234567'], ['49', '0', '171 2345 678'], ['33', '0', '6 12 34 56 79'], ['34', '', '612 345 679'], ['39', '', '347 123 4567'], ['31', '0', '6 12345679'], ['32', '0', '470 12 34 57'], ['48', '', '512 345 679'],
  ['7', '8', '912 345 67 89'], ['86', '', '138 0013 8001'], ['81', '0', '90 1234 5679'], ['82', '0', '10 1234 5679'], ['966', '0', '50 123 4568'], ['972', '0', '54 123 4568'], ['55', '', '11 91234 5679'], ['91', '0', '98765 43211'], ['45', '', '20 34 40 51'], ['46', '0', '70 123 45 68'], ['47', '', '912 34 568'],
  ['41', '0', '79 123 45 68'], ['43', '0', '664 123 4568'], ['353', '0', '86 123 4568'], ['61', '0', '412 345 679'], ['90', '0', '532 123 45 68'], ['20', '0', '10 1234 5679'], ['351', '', '912 345 679'], ['420', '', '601 123 457'], ['36', '06', '20 123 4568'], ['380', '0', '67 123 45 68'], ['52', '', '55 1234 5679'], ['62', '0', '812 3456 7890'],
];
const usualMarks = [' ', '-', '.', '/', '', ' - ', '  ', '\u00a0', '\u2009', '–', '‑', '_', '·', ' / ', '|', '~', '*', '•', '・', 'ー', '\t'];
/** Marks that lists have too: together with a leading zero or the code of a country. */
const otherMarks = [', ', ',', ';', ':', '=', '+', ' + ', '\n', '\\', "'", '→', '&', ' > ', '😀'];

/** Every second or third mark for each country, another for the next. */
const phones = countries.flatMap(([code, trunk, groups], turn) => [
  ...usualMarks.map((mark, index) => ((index + turn) % 2 === 0 ? trunk : `+${code}${mark}`) + groups.replaceAll(' ', mark)),
  ...otherMarks.map((mark, index) => [`+${code}${mark}`, `00${code}${mark}`, trunk === '0' ? '0' : `+${code}${mark}`][(index + turn) % 3] + groups.replaceAll(' ', mark)),
  ...(trunk === '0' ? [`+${code} (0)${groups}`, `(0${groups.replace(' ', ') ')}`] : []),
]);

const oddNumbers = [
  '415, 555, 0123', '06, 12, 34, 56, 78', '415=555=0123', '06+12+34+56+78', '[415] 555 0123', '{415}{555}{0123}', '4️⃣1️⃣5️⃣5️⃣5️⃣5️⃣0️⃣1️⃣2️⃣3️⃣', '④①⑤ ⑤⑤⑤ ⓪①②③', '⑷⑴⑸ ⑸⑸⑸ ⑴⑵⑶', '⒋⒈⒌ ⒌⒌⒌ ⒈⒉⒉', '四一五, 五五五, 〇一二三', '❹❶❺ ❺❺❺ ⓿❶❷❸', '⁴¹⁵⁵⁵⁵⁰¹²³', '四一五五五五〇一二三', '一三八-零零一三-八零零零', '138零零13八000', '〇九〇ー一二三四ー五六七八', '공일공 일이삼사 오육칠팔',
  '010 일이삼사 5678', 'four one five five five five zero one two three', '415 five five five 0123', 'null eins sieben eins zwei zwei vier', '415 555 O123', '4l5 555 0l23', '4\u03361\u03365\u0336 5\u03365\u03365\u0336 0\u03361\u03362\u0336', '&#52;&#49;&#53;&#53;&#53;&#53;&#48;&#49;', '%34%31%35%35%35%35%30%31', '\\u0034\\u0031\\u0035\\u0035\\u0035\\u0035\\u0030',
  '%2B49%2030%201234567', '+49&nbsp;171&nbsp;1234567', '415&#45;555&#45;0123', '＆＃５２；155550123', '0171\r\n234\r\n5678', '☎ 555 012', '📱123456', 'my number is 12 34 56', 'call 112233', 'QQ号123456', '4111111111111111', '5500+0000+0000+0004', '4111=1111=1111=1111', '37→82→82→24→63→10→00→5', 'DE89, 3704, 0044, 0532, 0130, 00',
  'D E 8 9 3 7 0 4 0 0 4 4 0 5 3 2 0 1 3 0 0 0', 'DЕ89370400440532013000', 'gb82·west·1234·5698·7654·32', '192{.}0{.}2{.}33', '192 punkt 0 punkt 2 punkt 33', '192&#46;0&#46;2&#46;33', '001b.4411.3ab7', '00 1B 44 11 3A B7', '0:1b:44:11:3a:b7', '37.7749, -122.4194', '37°46′29″N 122°25′9″W',
];

const ids = [
  'AB-12-34-56-C', '2 99 12 2A 123 456 78', 'RSS MRA 85T10 A562S', 'ABCPE1234F', '1EG4-TE5-MK73', 'Z683365(5)', 'S530-4209-4321', 'customer no. 48213', 'Kundennummer 48213', 'Kunden-Nr. 48213', 'patient ID: 48213', 'member #4821', 'booking ref ABC123', 'sort code 20-00-00', 'SSN: 1120', 'last four 1120', 'паспорт 4509 123456', '订单号48213', 'my PIN is 4821', 'CVV 123',
  'password: hunter2', 'plate AB12 CDE', 'exp 04/27', 'postcode SW1A 1AA', 'EC1A 1BB', 'K1A 0B1', 'Beverly Hills, CA 90210', 'PLZ 10117', 'P.O. Box 1234', 'Postfach 12 34', 'D-10117 Berlin',
];

const addresses = [
  '221B Baker Street', '12 baker street', 'Flat 4, 12 High Road', '1600 Pennsylvania Ave NW', '5 The Crescent', '350 5th Avenue', '1 Infinite Loop', 'Hauptstr. 12', 'Karl-Marx-Str. 12', 'Berliner Allee 12-14', 'Straße des 17. Juni 135', '12 bis rue de la Paix', '3 place de la République', '8 bd Voltaire', 'C/ Mayor, 5', 'Av. Paulista, 1578', 'Rua das Flores, 45',
  'Viale Monza 23', 'Piazza Garibaldi 4', 'Keizersgracht 123', 'Kerklaan 7', 'ul. Długa 5 m. 3', 'al. Jerozolimskie 65', 'ул. Ленина, д. 5, кв. 12', 'Тверская улица, 7', 'проспект Мира 12', '北京市朝阳区建国路88号', '丸の内1丁目9番1号', '東京都千代田区丸の内1-9-1', '서울시 강남구 테헤란로 152', 'شارع الملك فهد 12', 'שדרות רוטשילד 12', 'Atatürk Cad. No: 12', 'Storgatan 12', 'Nørregade 7', 'Mannerheimintie 12',
  'Strada Victoriei 12', 'Václavské náměstí 5', 'Jalan Sudirman No. 12', 'my address is Elm 5, Springfield 49007',
];

const births = [
  'born on 12.05.1985', 'born on May 12, 1985', 'DOB 12/05/85', 'D.O.B. 12-05-1985', 'my birthday is 12 May', 'geboren am 12. Mai 1985', 'geb. 12.05.1985', 'née le 12/05/1985', 'nací el 12 de mayo de 1985', 'nata il 12/05/1985', 'nasci em 12 de maio de 1985', 'geboortedatum 12-05-1985', 'ur. 12 maja 1985', 'родился 12.05.1985', 'дата рождения 12.05.1985', '出生日期：1985年5月12日', '昭和60年5月12日生まれ', '1985년 5월 12일생',
  'تاريخ الميلاد 12/05/1985', 'תאריך לידה 12/05/1985', 'doğum tarihi 12.05.1985',
];

/** Everything of which no digit may be left. */
export const identifyingNumbers: readonly string[] = [...phones, ...oddNumbers, ...ids, ...addresses, ...births];

/** Everything of which neither "xq" nor a sign "@" may be left. */
export const identifyingNames: readonly string[] = [
  'xqanna@xqhost.org', 'xqanna＠xqhost．org', 'xqanna at xqhost dot org', 'xqanna AT xqhost DOT org', 'xqanna-at-xqhost-dot-org', 'xqanna_at_xqhost_dot_org', 'xqannaATxqhostDOTorg', 'xqanna*at*xqhost.org', 'xqanna"at"xqhost.org', 'xqanna 【at】 xqhost.org', 'xqanna{at}xqhost{dot}org', 'xqanna <at> xqhost <dot> org', 'xqanna (at sign) xqhost.org', 'xqannaアットxqhost.org', 'xqanna골뱅이xqhost.org',
  'xqanna zavináč xqhost tečka org', 'xqanna собака xqhost точка org', 'xqanna@ xqhost. org', 'xqanna@xqhost点org', 'xqanna(at)xqhost-dot-org', 'xqanna&#64;xqhost&#46;org', 'xqanna\\u0040xqhost.org', '%78%71%61%6E%6E%61%40%78%71%68%6F%73%74%2E%6F%72%67', 'xqanna％４０xqhost.org', 'x q a n n a @ x q h o s t . o r g', 'e-mail me at: xqanna at xqhost.org', 'xqanna@[IPv6:2001:db8::1]', 'xqanna\\@xqhost.org',
  'follow @xqanna now', 'telegram @xqanna', '@xqanna@xqhost.org', '@xqanna:xqhost.org', 'xqanna#1234', 'u/xqanna', 't.me/xqanna', 'https://instagram.com/xqanna', 'linkedin.com/in/xqanna-xqhost', 'https://github.com/xqanna', 'https://example.org/users/xqanna', 'skype: xqanna.xqhost', 'IG xq_anna', 'username: xqanna', '微信号xqanna', 'https://xqanna:xqpass@example.org/', 'https://example.org/a%20b?token=xqanna', 'ghp_xqannaxqannaxqannaxqanna1',
];
