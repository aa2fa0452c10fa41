/**
 * The items of a header such as Accept, in lower case, with their weights (RFC 9110 §12.4.2): 0 refuses an item, and one
 * without a weight, or with a wrong one, has 1.
 */
export function weighted(header = ''): { name: string; weight: number }[] {
  return header
    .toLowerCase()
    .split(',')
    .map((item) => {
      const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
      const [quality] = parameters.flatMap((parameter) => qualityForm.exec(parameter)?.[1] ?? []);
      return { name, weight: quality === undefined ? 1 : Number(quality) };
    });
}

const qualityForm = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;
