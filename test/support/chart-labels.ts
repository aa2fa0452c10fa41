import type { Locator } from 'playwright-core';

/** Where the first and the last letter of a chart's last label begin. */
export const endsOfLastLabel = (chart: Locator): Promise<number[]> =>
  chart.evaluate((element) => {
    const document = element.ownerDocument;
    // 4: texts alone.
    const text = document.createTreeWalker(element.lastElementChild?.lastElementChild ?? element, 4).nextNode();
    return text === null
      ? []
      : [0, (text.textContent ?? '').length - 1].map((index) => {
          const letter = document.createRange();
          letter.setStart(text, index);
          letter.setEnd(text, index + 1);
          return letter.getBoundingClientRect().left;
        });
  });

/** Where the labels of a chart stand, from left to right. */
export const placesOfLabels = (chart: Locator): Promise<{ start: number; end: number }[]> =>
  chart.evaluate((element) =>
    Array.from<typeof element>(element.querySelectorAll(':scope > *')).flatMap((column) => {
      const label = column.lastElementChild;
      if (!label?.textContent?.trim()) return [];
      const text = label.ownerDocument.createRange();
      text.selectNodeContents(label);
      const { left, right } = text.getBoundingClientRect();
      return [{ start: left, end: right }];
    }),
  );
