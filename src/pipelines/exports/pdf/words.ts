import type { Outcome } from '../../../domain/outcome.ts';

/** Words of a report that are not the author's. */
const english = {
  responses: 'Responses',
  complete: 'Complete',
  completionRate: 'Completion rate',
  duration: 'Mean duration',
  medianDuration: 'Median duration',
  made: 'Made on',
  perDay: 'Responses by day',
  perMonth: 'Responses by month',
  perYear: 'Responses by year',
  answered: 'Answered',
  skipped: 'Skipped',
  answer: 'Answer',
  word: 'Word',
  rank: 'Rank',
  count: 'Count',
  percent: 'Percent',
  nobody: 'Nobody has answered this question.',
  promoters: 'Promoters',
  passives: 'Passives',
  detractors: 'Detractors',
  NPS: 'NPS',
  Mean: 'Mean',
  Median: 'Median',
  'Standard deviation': 'Standard deviation',
  Minimum: 'Minimum',
  Maximum: 'Maximum',
  'Top box': 'Top box',
  'Bottom box': 'Bottom box',
  Other: 'Other',
  themes: 'Themes of the open answers',
  positive: 'Positive',
  negative: 'Negative',
  neutral: 'Neutral',
  mixed: 'Mixed',
  mentions: 'Mentions',
  rest: 'All others',
  partial: 'Partial',
  screenedOut: 'Screened out',
  overQuota: 'Over quota',
  leftOut: 'Not in the figures of questions',
  notAsked: 'Not asked',
  analysed: 'Responses analysed',
  recommendations: 'Recommendations',
  selection: 'Selection',
  questions: 'Questions',
};

export type Words = typeof english;

export const outcomeWords = {
  COMPLETED: 'complete',
  PARTIAL: 'partial',
  SCREENED_OUT: 'screenedOut',
  OVER_QUOTA: 'overQuota',
} as const satisfies Record<Outcome, keyof Words>;

const order = Object.keys(english) as (keyof Words)[];

/** Translations, in the order of the English words. */
const translations: Readonly<Record<string, string>> = {
  es: 'Respuestas|Completas|Tasa de finalización|Duración media|Duración mediana|Creado el|Respuestas por día|Respuestas por mes|Respuestas por año|Respondida|Omitida|Respuesta|Palabra|Posición|Cantidad|Porcentaje|Nadie ha respondido a esta pregunta.|Promotores|Pasivos|Detractores|NPS|Media|Mediana|Desviación estándar|Mínimo|Máximo|Valor más alto|Valor más bajo|Otro|Temas de las respuestas abiertas|Positivo|Negativo|Neutro|Mixto|Menciones|Otros valores|Parciales|Excluidas en el filtro|Fuera de cuota|No incluidas en las cifras de las preguntas|No preguntada|Respuestas analizadas|Recomendaciones|Selección|Preguntas',
  fr: 'Réponses|Complètes|Taux d’achèvement|Durée moyenne|Durée médiane|Créé le|Réponses par jour|Réponses par mois|Réponses par an|Répondu|Passée|Réponse|Mot|Rang|Nombre|Pourcentage|Personne n’a répondu à cette question.|Promoteurs|Passifs|Détracteurs|NPS|Moyenne|Médiane|Écart type|Minimum|Maximum|Note la plus haute|Note la plus basse|Autre|Thèmes des réponses ouvertes|Positif|Négatif|Neutre|Mitigé|Mentions|Tous les autres|Partielles|Hors cible|Hors quota|Non comprises dans les chiffres des questions|Non posée|Réponses analysées|Recommandations|Sélection|Questions',
  de: 'Antworten|Vollständig|Abschlussquote|Mittlere Dauer|Median der Dauer|Erstellt am|Antworten je Tag|Antworten je Monat|Antworten je Jahr|Beantwortet|Übersprungen|Antwort|Wort|Rang|Anzahl|Prozent|Diese Frage hat niemand beantwortet.|Promotoren|Passive|Detraktoren|NPS|Mittelwert|Median|Standardabweichung|Minimum|Maximum|Höchster Wert|Niedrigster Wert|Andere|Themen der offenen Antworten|Positiv|Negativ|Neutral|Gemischt|Nennungen|Alle übrigen|Unvollständig|Ausgescreent|Über der Quote|Nicht in den Zahlen der Fragen|Nicht gestellt|Ausgewertete Antworten|Empfehlungen|Auswahl|Fragen',
  it: 'Risposte|Complete|Tasso di completamento|Durata media|Durata mediana|Creato il|Risposte per giorno|Risposte per mese|Risposte per anno|Risposto|Saltata|Risposta|Parola|Posizione|Numero|Percentuale|Nessuno ha risposto a questa domanda.|Promotori|Passivi|Detrattori|NPS|Media|Mediana|Deviazione standard|Minimo|Massimo|Valore più alto|Valore più basso|Altro|Temi delle risposte aperte|Positivo|Negativo|Neutro|Misto|Menzioni|Tutti gli altri|Parziali|Escluse dal filtro|Fuori quota|Non comprese nelle cifre delle domande|Non posta|Risposte analizzate|Raccomandazioni|Selezione|Domande',
  pt: 'Respostas|Completas|Taxa de conclusão|Duração média|Duração mediana|Criado em|Respostas por dia|Respostas por mês|Respostas por ano|Respondida|Ignorada|Resposta|Palavra|Posição|Número|Percentagem|Ninguém respondeu a esta pergunta.|Promotores|Passivos|Detratores|NPS|Média|Mediana|Desvio padrão|Mínimo|Máximo|Valor mais alto|Valor mais baixo|Outro|Temas das respostas abertas|Positivo|Negativo|Neutro|Misto|Menções|Todos os restantes|Parciais|Excluídas na triagem|Acima da quota|Não incluídas nos números das perguntas|Não colocada|Respostas analisadas|Recomendações|Seleção|Perguntas',
  nl: 'Reacties|Volledig|Voltooiingspercentage|Gemiddelde duur|Mediane duur|Gemaakt op|Reacties per dag|Reacties per maand|Reacties per jaar|Beantwoord|Overgeslagen|Antwoord|Woord|Rang|Aantal|Percentage|Niemand heeft deze vraag beantwoord.|Promotors|Passief tevredenen|Criticasters|NPS|Gemiddelde|Mediaan|Standaardafwijking|Minimum|Maximum|Hoogste waarde|Laagste waarde|Anders|Thema’s van de open antwoorden|Positief|Negatief|Neutraal|Gemengd|Vermeldingen|Alle overige|Gedeeltelijk|Uitgescreend|Boven het quotum|Niet in de cijfers van de vragen|Niet gesteld|Geanalyseerde reacties|Aanbevelingen|Selectie|Vragen',
  pl: 'Odpowiedzi|Pełne|Wskaźnik ukończenia|Średni czas|Mediana czasu|Utworzono|Odpowiedzi dziennie|Odpowiedzi miesięcznie|Odpowiedzi rocznie|Odpowiedziano|Pominięto|Odpowiedź|Słowo|Miejsce|Liczba|Procent|Nikt nie odpowiedział na to pytanie.|Promotorzy|Pasywni|Krytycy|NPS|Średnia|Mediana|Odchylenie standardowe|Minimum|Maksimum|Najwyższa ocena|Najniższa ocena|Inne|Tematy odpowiedzi otwartych|Pozytywne|Negatywne|Neutralne|Mieszane|Wzmianki|Wszystkie pozostałe|Częściowe|Odsiane|Ponad kwotę|Nieujęte w liczbach pytań|Nie zadano|Przeanalizowane odpowiedzi|Zalecenia|Wybór|Pytania',
  ru: 'Ответы|Полные|Доля завершивших|Среднее время|Медианное время|Создано|Ответы по дням|Ответы по месяцам|Ответы по годам|Ответили|Пропустили|Ответ|Слово|Место|Число|Процент|На этот вопрос никто не ответил.|Промоутеры|Нейтралы|Критики|NPS|Среднее|Медиана|Стандартное отклонение|Минимум|Максимум|Высшая оценка|Низшая оценка|Другое|Темы открытых ответов|Положительно|Отрицательно|Нейтрально|Смешанно|Упоминания|Все остальные|Частичные|Отсеянные|Сверх квоты|Не входят в данные по вопросам|Не спрашивали|Проанализировано ответов|Рекомендации|Отбор|Вопросы',
  zh: '回答|完整|完成率|平均用时|用时中位数|生成时间|每日回答|每月回答|每年回答|已回答|已跳过|答案|词语|排名|数量|百分比|没有人回答此问题。|推荐者|被动者|贬损者|NPS|平均值|中位数|标准差|最小值|最大值|最高分|最低分|其他|开放式回答的主题|正面|负面|中性|混合|提及次数|其余全部|部分完成|甄别淘汰|超出配额|未计入各题数据|未提问|已分析的回答|建议|筛选范围|题目',
  'zh-hant':
    '回覆|完整|完成率|平均用時|用時中位數|產生時間|每日回覆|每月回覆|每年回覆|已回答|已略過|答案|詞語|排名|數量|百分比|沒有人回答此問題。|推薦者|被動者|貶損者|NPS|平均值|中位數|標準差|最小值|最大值|最高分|最低分|其他|開放式回覆的主題|正面|負面|中性|混合|提及次數|其餘全部|部分完成|甄別淘汰|超出配額|未計入各題數據|未提問|已分析的回覆|建議|篩選範圍|題目',
  ja: '回答数|完了|完了率|平均所要時間|所要時間の中央値|作成日時|日別の回答数|月別の回答数|年別の回答数|回答|スキップ|回答|単語|順位|件数|割合|この質問への回答はありません。|推奨者|中立者|批判者|NPS|平均|中央値|標準偏差|最小値|最大値|最高評価|最低評価|その他|自由回答のテーマ|肯定的|否定的|中立|賛否混在|出現回数|それ以外|途中まで|対象外|割当超過|各質問の集計に含まれない回答|未質問|分析した回答数|提言|抽出条件|質問',
  ko: '응답|완료|완료율|평균 소요 시간|소요 시간 중앙값|작성 일시|일별 응답|월별 응답|연도별 응답|응답함|건너뜀|답변|단어|순위|개수|비율|이 질문에 답한 사람이 없습니다.|추천자|중립자|비추천자|NPS|평균|중앙값|표준 편차|최솟값|최댓값|최고 점수|최저 점수|기타|주관식 답변의 주제|긍정|부정|중립|혼합|언급 횟수|나머지 전체|부분 응답|대상 제외|할당 초과|문항 집계에 포함되지 않음|묻지 않음|분석한 응답|권고 사항|선택 조건|문항',
  ar: 'الردود|المكتملة|معدل الإكمال|متوسط المدة|وسيط المدة|تاريخ الإنشاء|الردود حسب اليوم|الردود حسب الشهر|الردود حسب السنة|تمت الإجابة|تم التخطي|الإجابة|الكلمة|الترتيب|العدد|النسبة المئوية|لم يجب أحد عن هذا السؤال.|المروجون|المحايدون|المنتقدون|NPS|المتوسط|الوسيط|الانحراف المعياري|الحد الأدنى|الحد الأقصى|أعلى تقييم|أدنى تقييم|أخرى|موضوعات الإجابات المفتوحة|إيجابي|سلبي|محايد|مختلط|مرات الذكر|كل ما تبقى|الجزئية|المستبعدة بالفرز|الزائدة عن الحصة|غير مشمولة في أرقام الأسئلة|لم يطرح السؤال|الردود المحللة|التوصيات|نطاق التقرير|الأسئلة',
  he: 'תגובות|מלאות|שיעור השלמה|משך ממוצע|משך חציוני|נוצר בתאריך|תגובות לפי יום|תגובות לפי חודש|תגובות לפי שנה|ענו|דילגו|תשובה|מילה|דירוג|מספר|אחוז|איש לא ענה על שאלה זו.|ממליצים|ניטרליים|מבקרים|NPS|ממוצע|חציון|סטיית תקן|מינימום|מקסימום|הציון הגבוה|הציון הנמוך|אחר|נושאי התשובות הפתוחות|חיובי|שלילי|ניטרלי|מעורב|אזכורים|כל השאר|חלקיות|סוננו|מעל המכסה|אינן כלולות בנתוני השאלות|לא נשאלו|תגובות שנותחו|המלצות|היקף הדוח|שאלות',
};

const traditional = /^zh-(?:hant|tw|hk|mo)\b/;

/** The words in the survey's language if it is one of the service's fifteen, otherwise in English. */
export function wordsOf(language: string): Words {
  const tag = language.toLowerCase();
  const found = translations[traditional.test(tag) ? 'zh-hant' : (tag.split('-')[0] ?? '')]?.split('|');
  return found
    ? (Object.fromEntries(order.map((key, index) => [key, found[index] ?? english[key]])) as Words)
    : english;
}
