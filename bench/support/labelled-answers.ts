import type { Sentiment } from '../../src/domain/analytics/sentiment.ts';

export interface LabelledAnswer {
  text: string;
  sentiment: Sentiment;
}

export const labelledQuestion = 'What do you think of our canteen?';

/** Short answers in eight languages with the sentiment that a careful reader gives them. */
export const labelledAnswers: readonly LabelledAnswer[] = [
  ...labelled('positive', [
    'Best lunch in town, I come every day.',
    'The cook is wonderful.',
    'So glad you added the salad bar!',
    'Das Essen schmeckt hervorragend.',
    'Sehr freundliches Personal, danke!',
    'Un accueil chaleureux et des plats délicieux.',
    'Me encanta la sopa de los lunes.',
    'Ottimo caffè, sempre.',
    'Heerlijk gegeten, complimenten.',
    '料理がとてもおいしいです。',
    'الطعام لذيذ جدا',
  ]),
  ...labelled('negative', [
    'The queue takes half my break.',
    'Cold soup again. Unacceptable.',
    'Far too expensive for what you get.',
    'Viel zu laut, man versteht kein Wort.',
    'Das Gemüse ist immer verkocht.',
    "C'est sale et personne ne nettoie les tables.",
    'La comida llega fría y sin sabor.',
    'Il servizio è pessimo.',
    'Veel te duur geworden.',
    '待ち時間が長すぎて困ります。',
    'الخدمة سيئة والانتظار طويل',
  ]),
  ...labelled('neutral', [
    'I eat there on Tuesdays.',
    'No opinion.',
    'It is on the second floor.',
    'Ich bringe mein Essen von zu Hause mit.',
    'Keine Angabe.',
    'Je mange à midi et demi.',
    'Voy una vez por semana.',
    'Prendo il menù del giorno.',
    'Ik werk meestal thuis.',
    '週に二回利用します。',
    'لا أعرف',
  ]),
  ...labelled('mixed', [
    'Great food, but the queue is awful.',
    'Lovely staff, terrible coffee.',
    'Cheap and filling, though I hate the noise.',
    'Das Essen ist gut, aber viel zu teuer.',
    'Tolle Auswahl, leider schmutzige Tische.',
    'Les plats sont bons mais le service est trop lent.',
    'Me gusta el menú, pero las mesas están sucias.',
    'Buona la pasta, pessimo il vino.',
    'Lekker eten, maar veel te lange rijen.',
    '味は最高だが、値段が高すぎる。',
    'الطعام رائع لكن الأسعار مرتفعة جدا',
  ]),
];

export interface ThemedAnswer {
  text: string;
  theme: string;
}

/** Patterns that a theme's name must match to count as that theme. */
export const goldThemes: Readonly<Record<string, RegExp>> = {
  waiting: /wait|queue|line|slow|speed|time/i,
  price: /price|cost|expens|afford|money|cheap|value/i,
  noise: /noise|noisy|loud|acoustic|sound|quiet/i,
  cleanliness: /clean|dirt|hygien/i,
};

export const themedAnswers: readonly ThemedAnswer[] = [
  ...themed('waiting', [
    'The queue is endless at noon.',
    'I waited twenty minutes to be served.',
    'Please open a second counter, the line is too long.',
  ]),
  ...themed('price', [
    'Prices went up again.',
    'Lunch costs too much for interns.',
    'Too expensive compared with the bakery.',
  ]),
  ...themed('noise', [
    'It is so loud that nobody can talk.',
    'The noise of the dishes is unbearable.',
    'Could you do something about the acoustics? Too noisy.',
  ]),
  ...themed('cleanliness', [
    'The tables are dirty.',
    'Trays are never cleaned properly.',
    'Hygiene at the salad bar is poor.',
  ]),
];

export const surveyTopics = [
  { language: 'en', description: 'We want to know what employees think of the food and the service in our canteen.' },
  {
    language: 'de',
    description: 'Wir möchten wissen, was die Beschäftigten über das Essen und den Service in unserer Kantine denken.',
  },
  {
    language: 'fr',
    description: 'Nous voulons savoir ce que les employés pensent des repas et du service de notre cantine.',
  },
  {
    language: 'es',
    description: 'Queremos saber qué piensan los empleados de la comida y del servicio de nuestro comedor.',
  },
] as const;

export type TopicLanguage = (typeof surveyTopics)[number]['language'];

function labelled(sentiment: Sentiment, texts: readonly string[]): LabelledAnswer[] {
  return texts.map((text) => ({ text, sentiment }));
}

function themed(theme: string, texts: readonly string[]): ThemedAnswer[] {
  return texts.map((text) => ({ text, theme }));
}
