/** Answers with numbers, signs and addresses of pages that are nobody's. */
export const plainAnswers: readonly string[] = [
  'I paid 12.50 for 3 lunches in 2026', 'Since 2026-01-15 it is better', 'Open 9:30 to 17:00', 'See https://example.org/menu', 'The staff was Great and Friendly', 'Version 1.2.3', '100,000 people', 'Ich mag das Essen',
  'It took 3 days all the way', 'On 12/05/2024 14:30 I waited 25 minutes.', 'From 2019-2023 prices rose by 18.5 %.', 'Between 08.30-17.30 nobody answers.', 'The budget was 1.500.000 € or 1 500 000 people.',
  '$1,250,000.00 is too much, 2500000 EUR too.', 'I gave 4/5 3/5 5/5 and 10/10 for the food.', '12.50 - 15.00 is a fair price', '1 2 3 4 5 6 7 8 9 10 is how I rank them', 'Rooms 101, 102, 103, 104, 105 are cold.',
  '10, 20, 30, 40, 50, 60, 70, 80', 'In 2019, 2020, 2021 and 2022 it was fine', '15.01.2024 - 20.02.2024 was the best period', 'Top 10, level 3, 100 %, 24/7, A4, B12, 5G, COVID-19, iPhone 15', 'I would give 9 out of 10; 99.9% uptime; 3.5 stars',
  'We are 4 adults and 2 children, aged 35-44', 'Size 42, 1920x1080, 2000mAh, 120 km/h, 100000 km', 'Lunch @ noon for 5 EUR @ the bar', 'Meet me at the station at 10.30', 'Look at example.org/menu and www.example.org', 'std::vector is C++',
  'Ratio 3:2:1, time 12:30:45', 'Phone support in 2019 was better', 'option (a) is better than (b)', 'Wir sind seit 01.04.2019 Kunde, Abteilung 4, Raum 2.15', 'Le 14 juillet 2023 à 19h30, 45 personnes', 'El 80% de los 1.200 empleados', '価格は１２００円です。',
  '2024年1月15日に来ました', 'من 2019 الى 2023', 'Section 1.2.3.4.5 of the manual', '#1 choice!', 'e.g. 5-7 days, 10-15 minutes, 2-3 times', 'https://example.org/our-christmas-menu/2024/winter', 'Q1 2024, H2 2025, FY2023/24', 'the 1990s and 2000s',
  '1:0, 2:1 and 3:3', '500 g, 1.5 l, 37.5 °C', 'Best. Day. Ever.', 'Windows 11 23H2', '食べ物は「とても」良い…でも高い。', 'Cafe\u0301 – très bon, naïve “quotes” and soft\u00adhyphens stay',
  'Cafe :: 2024 was great', 'Dec :: 2025 visit', 'Bed :: 120', 'Bad :: 100 %', 'Ward B :: 204', 'Room A :: 100', 'Feed :: 2024', '2024 :: bad', 'A : 5, B : 4, C : 3', 'Bed : 12 : Bad : 100',
];
