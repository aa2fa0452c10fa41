import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createAnonymiser } from '../../../../src/ai/privacy/anonymise.ts';

const masked = (text: string): string => createAnonymiser(() => [])(text);

describe('the anonymiser on streets', () => {
  it('hides streets in upper case, in lower case and in Danish', () => {
    for (const street of [
      'HAUPTSTRASSE 12',
      'HAUPTSTRAßE 12',
      'GARTENSTRASSE 12',
      'BAHNHOFSTR. 7',
      'LINDENWEG 3',
      'KARL-MARX-ALLEE 5',
      'MARKTPLATZ 4a',
      'KEIZERSGRACHT 12',
      'rosenweg 5',
      'lindenallee 3',
      'goetheplatz 4',
      'mühlengasse 12b',
      'hauptstr. 12',
      'hauptstraße 12',
      'Strandvej 5',
      'Vesterbrovej 12',
      'Kirkevej 12b',
      'STRANDVEJ 5',
      'strandvej 5',
      'Nørregade 7',
      'nørregade 7',
      'Lærkevænget 3',
    ])
      assert.equal(masked(street), '[ADDRESS_1]');
  });

  it('hides ways to schools, parks and the like where a house number follows', () => {
    for (const [text, expected] of [
      ['wohne Schulweg 5', 'wohne [ADDRESS_1]'],
      ['Ich wohne im Parkweg 12', 'Ich wohne im [ADDRESS_1]'],
      ['Radweg 3a', '[ADDRESS_1]'],
      ['Fußweg 7 in Bonn', '[ADDRESS_1] in Bonn'],
      ['Bauweg 12', '[ADDRESS_1]'],
      ['SCHULWEG 5', '[ADDRESS_1]'],
      ['schulweg 5', '[ADDRESS_1]'],
    ] as const)
      assert.equal(masked(text), expected);
  });

  it('leaves ways, places and platforms that are measured, rated or numbered', () => {
    for (const text of [
      'Schulweg 20 Minuten',
      'Schulweg 5 km',
      'Fußweg 10 Min.',
      'Radweg 3 Kilometer',
      'Arbeitsweg 45 min',
      'Heimweg 20',
      'heimweg 20 minuten',
      'HEIMWEG 20 MINUTEN',
      'Rückweg 15',
      'Umweg 3',
      'durchweg 5 Sterne',
      'Arbeitsplatz 3',
      'arbeitsplatz 3',
      'ARBEITSPLATZ 3',
      'Parkplatz 5 Euro',
      'parkplatz 5 euro',
      'PARKPLATZ 5 EURO',
      'Sitzplatz 12 war defekt',
      'bahnsteig 3',
      'Bahnsteig 3',
      'BAHNSTEIG 3',
      'onderweg 3 uur',
      'Motorvej 3',
      'Omvej 5',
      'Sackgasse 3',
      'Lindenallee 3 Minuten',
      'platz 3',
      'PLATZ 3',
      'weg 5',
      'Brigade 4',
      'brigade 4',
      'BRIGADE 4',
      'renegade 3',
      'Schlafplatz 3',
      'spielplatz 2',
      'Kinderspielplatz 3',
      'Ausbildungsplatz 3',
      'Lösungsweg 3',
      'marktplatz 5 von 10',
    ])
      assert.equal(masked(text), text);
  });

  it('hides French streets with a capital, and rue and avenue all in capitals', () => {
    for (const [text, expected] of [
      ["J'habite au 8 Rue Lepic, merci de rappeler", "J'habite au [ADDRESS_1], merci de rappeler"],
      ['8, Rue Lepic', '[ADDRESS_1]'],
      ['8 bis Rue Lepic, Paris', '[ADDRESS_1], Paris'],
      ['12 Avenue Foch', '[ADDRESS_1]'],
      ['12 Bd Voltaire', '[ADDRESS_1]'],
      ['3 bd de la paix', '[ADDRESS_1]'],
      ['3 Place Bellecour', '[ADDRESS_1]'],
      ['14 Impasse des Lilas', '[ADDRESS_1]'],
      ['14 Allée des Lilas', '[ADDRESS_1]'],
      ['14 Route de Lyon', '[ADDRESS_1]'],
      ["12 Rue de l'Église", '[ADDRESS_1]'],
      ['12 Rue de la Paix, 75002 Paris', '[ADDRESS_1]'],
      ['12 RUE LEPIC', '[ADDRESS_1]'],
      ['12 AV. FOCH', '[ADDRESS_1]'],
    ] as const)
      assert.equal(masked(text), expected);
  });

  it('leaves French comics and streets that are counted, and streets behind a rating', () => {
    for (const text of [
      "J'ai lu 5 BD cette semaine",
      'IL MANQUAIT 2 BD DANS LE COLIS',
      'Note 8/10 Rue trop bruyante',
      '7\nAvenue trop bruyante',
      'Ligne 12 Boulevard très bruyant',
      '5 Avenue tickets',
    ])
      assert.equal(masked(text), text);
  });

  it('leaves places, routes and courses that are counted', () => {
    for (const text of [
      '2 Place settings were missing',
      '2 PLACE SETTINGS WERE MISSING',
      '1 Route was closed',
      'The 3 square meals',
      'THE 3 SQUARE MEALS',
      '3 Cours par semaine',
      '2 places assises',
    ])
      assert.equal(masked(text), text);
  });

  it('hides English streets in small letters and in capitals, by the word for a road or for living there', () => {
    for (const [text, expected] of [
      ['45 old kent road', '[ADDRESS_1]'],
      ['12 high road', '[ADDRESS_1]'],
      ['i am at 12 high road, leeds', 'i am at [ADDRESS_1], leeds'],
      ['12 HIGH ROAD', '[ADDRESS_1]'],
      ['1200 w 5th ave', '[ADDRESS_1]'],
      ['i live at 12 main road', 'i live at [ADDRESS_1]'],
      ['I LIVE AT 12 MAIN ROAD', 'I LIVE AT [ADDRESS_1]'],
      ['i live at 5 elm close bath', 'i live at [ADDRESS_1] bath'],
      ["she lives in 7 st james's square", 'she lives in [ADDRESS_1]'],
      ['my house is 45 church lane', 'my house is [ADDRESS_1]'],
      ['we moved to 123 oak drive in may', 'we moved to [ADDRESS_1] in may'],
      ['delivered to 123 main st', 'delivered to [ADDRESS_1]'],
      ['delivered at 7 st. james close', 'delivered at [ADDRESS_1]'],
      ['address: 123 main st', 'address: [ADDRESS_1]'],
      ['flat 3, 12 elm court', 'flat 3, [ADDRESS_1]'],
    ] as const)
      assert.equal(masked(text), expected);
  });

  it('hides English streets in small letters and in capitals, whatever word is their name', () => {
    for (const [text, expected] of [
      ['12 the street', '[ADDRESS_1]'],
      ['5 the avenue', '[ADDRESS_1]'],
      ['7 THE CRESCENT', '[ADDRESS_1]'],
      ['12 NEW STREET', '[ADDRESS_1]'],
      ['shop at 7 old street london', 'shop at [ADDRESS_1] london'],
      ['12 star street', '[ADDRESS_1]'],
      ['350 second ave', '[ADDRESS_1]'],
      ['350 SECOND AVE', '[ADDRESS_1]'],
      ['12 baker street works best for me', '[ADDRESS_1] works best for me'],
    ] as const)
      assert.equal(masked(text), expected);
  });

  it('leaves roads, drives and closes that are counted, measured or no streets', () => {
    for (const text of [
      '10 minute drive',
      '3 lane road',
      '2 way street',
      'The wait is 10 min ave',
      'I gave 4 points ave',
      'It took 20 seconds ave',
      '2 dead end street',
      '10 hour road trip',
      '5 year road map',
      '2 old road bikes',
      '3 new road signs',
      '1 dirt road',
      '1 straight road',
      'this is a 20 mph road.',
      '20 mph road limit',
      '10 kilometer road race',
      'I paid 50 pounds road tax',
      'In 2019 this road was resurfaced',
      '10\nthis road is fine',
      'after 3 hours on the road',
      'I WAITED 20 MINUTES IN THE COURT',
      'WE DROVE 10 MILES DOWN THE ROAD',
      'i live in 10 minute drive',
      'I live in 1 bedroom flat close to the centre',
      'i live in 1 little flat close to the centre',
      'we live on 3 acres with a drive',
      'live on 2 lane road',
      'delivered to 3 people on the road',
      'delivered to 2 houses down the road',
      'Delivered at 10 pm. Street was dark',
      'delivery at 8 p.m. street was empty',
      "delivered at 9 o'clock wrong street",
      'delivery at 12 noon drive was blocked',
      'delivered to 12 neighbours. Road was closed',
      'we moved to 100 gb google drive',
      'please address 2 main issues on the drive',
      '10 extra st',
    ])
      assert.equal(masked(text), text);
  });
});
