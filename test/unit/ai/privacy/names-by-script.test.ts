import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnonymiser } from '../../../../src/ai/privacy/anonymise.ts';

/** What stands between guillemets is hidden, and nothing else. */
function assertHidden(lines: readonly string[]): void {
  for (const line of lines) {
    const masked = createAnonymiser(() => [])(line.replace(/[«»]/g, '')).replace(/\[PERSON_\d+\]/g, '[]');
    assert.equal(masked, line.replace(/«[^»]*»/g, '[]'));
  }
}

describe('names in other scripts', () => {
  it('are found in Chinese after words that can also be half of another word', () => {
    assertHidden([
      '我对«王»先生很满意',
      '由«李»经理处理',
      '对«张»医生非常感谢',
      '等«陈»老师',
      '处理由«王»先生负责',
      '由于«王»先生不在',
      '属于«李»经理',
      '我對«張»醫生很滿意',
      '对方经理很差',
      '对方女士不讲理',
      '由于老师不在',
      '对于老师很满意',
      '關於老師',
      '终于老师来了',
      '等于老师白来',
      '处方医生不在',
      '对任何医生都一样',
      '等高级经理',
      '高中老师很好',
      '任课老师',
    ]);
  });

  it('are found before a title although they are words too', () => {
    assertHidden([
      '«汪洋»先生',
      '«林立»老师很好',
      '«江南»女士',
      '«夏天»同学',
      '高楼林立',
      '一片汪洋',
      '谢谢老师',
      '谢谢«谢老师»',
      '任何医生',
      '马上老师就来',
      '周末医生不在',
      '于是先生走了',
    ]);
  });

  it('are found before a title or honorific behind a space, in Japanese and Korean', () => {
    assertHidden([
      '«佐藤» さんが親切でした',
      '«田中» 店長が親切でした',
      '«박» 선생님이 친절했어요',
      '«김» 과장님 감사합니다',
      '«김» 씨',
      '이 선생님 좋아요',
      '한 선생님만 있어요',
      '전 사장님이 더 좋았어요',
      '현 원장님',
      '쿠폰 3장 사장님이 주셨어요',
      '책 한 권 선생님이 추천',
      '1조 팀장님이 친절했어요',
      '고장난 문 기사님이 고쳐 주셨어요',
      '제 손 간호사님이 꼭 잡아주셨어요',
      '노 매니저 서비스',
      '2박 사장님이 친절했어요',
      '문 의사소통',
      '박 양말',
      '店員 さん',
    ]);
  });

  it('are found in Hebrew although they begin like short words', () => {
    assertHidden([
      'קוראים לי «לאה»',
      'שמי «טובה»',
      'שמי «שלומי»',
      'קוראים לי «עמיר»',
      'מר טוב',
      'שמי לא חשוב',
      'שמי של הילד',
    ]);
  });

  it('are found with the letters of Persian and Urdu, and with vowel signs', () => {
    assertHidden([
      'اسمي «پرویز»',
      'السيد «گلشن»',
      'السيد «کریم» كان لطيفا',
      'الدكتورة «ژیلا»',
      'اسمي «چنگیز»',
      'السيد «مُحَمَّد»',
      'اسمي «پرویز»، شكرا',
      'السيدة في الاستقبال',
      'الطعام بارد جدا',
    ]);
  });

  it('are found in Japanese beside all words for professions', () => {
    assertHidden([
      '«手塚»さん',
      '«長島»さん',
      '«長尾»さん',
      '«奥野»さん',
      '«奥山»さん',
      '受付の«手島»さん',
      '担当の«長井»様',
      '«師岡»さん',
      '«本多»さん',
      '«福士»さん',
      '«多田»様',
      '«親川»さん',
      '«客野»さん',
      '«相模»さん',
      '店長さん',
      '運転手さん',
      '看護師さん',
      '美容師さんが上手',
      '店員さん',
      '業者さん',
      'お客様',
      'ご主人様',
      '若奥様',
      '奥様方',
      '両親さん',
      '親御さん',
      '患者様',
      '保護者様',
      '宿泊客様',
      '製品仕様が不明',
      '前回同様です',
      '花模様',
      '多種多様',
      '女王様',
      '支店長さん',
      '弁護士さん',
      '飼い主さん',
      '株主様',
      '家主さん',
      '選手さん',
      '料理人さん',
      '大工さん',
      '職人さん',
      '学生さん',
      '生徒さん',
      'スタッフさん',
      '受付さん',
      '皆様',
      '各位様',
      '友達くん',
      '企業様',
      '息子さん',
      '事業主様',
      '担当医さん',
      'フロントさん',
      '旦那さん',
      '各種様式',
    ]);
  });

  it('are found in Japanese without kana by a Japanese honorific', () => {
    assertHidden([
      '«田中»様',
      '«鈴木»氏',
      '担当«田中»殿',
      '«手塚»様',
      '«田中花子»様',
      '製品仕様不明',
      '前回同様',
      '摄氏三十度',
      '华氏',
      '大雄宝殿',
      '同様',
    ]);
  });
});
