import type { Finder } from '../spans.ts';
import { namePatternFinder } from './name-patterns.ts';

/** Of Persian and Urdu too. The expressions with it take the flag v. */
const arabic = '[\\u0640\\p{M}[\\p{Script=Arabic}&&\\p{L}]]';
const noArabic =
  '(?!(?:في|من|على|إلى|الى|التي|الذي|عند|عن|مع|كان|كانت|هو|هي|لا|لم|قال|قالت|هنا|هناك|جيد|سيئ|المسؤول|المدير|الموظف|المحترم)(?!\\p{L}))';
/** Given names; those that are everyday words too (سعيد, علي, كريم) only beside a second name. */
const givenArabic =
  'محمد|أحمد|احمد|محمود|مصطفى|إبراهيم|ابراهيم|يوسف|خالد|حسين|عثمان|فاطمة|عائشة|مريم|زينب|خديجة|سارة|ليلى|نورة|ياسمين|طارق|سامي|فيصل|رامي|بلال|حمزة|ناصر|فهد|نوال|هناء|زياد|إسماعيل|اسماعيل|سلمى|رانيا|دينا|عبد\\s?(?:الله|الرحمن|العزيز|الكريم|القادر|الرحيم|المجيد|الحميد|اللطيف|السلام|الناصر)';
const find = namePatternFinder([
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

/** Arabic and Hebrew names: behind a title or a phrase, by a usual given name, by what stands between a name and that of the father. */
export const findSemiticNames: Finder = (text) => [
  ...(/\p{Script=Arabic}/u.test(text) ? find(text) : []),
  ...(/[\u05d0-\u05ea]/.test(text) ? findHebrew(text) : []),
];
