import { xmlText } from '../../../src/platform/sheet-text.ts';
import { columnName, type NumberFormat, type Sheet, type SheetCell } from './sheet.ts';
import { zipOf } from './zip.ts';

/** Codes of number formats as workbooks write them; those without a code are built in. */
const formats: Readonly<Record<NumberFormat, { id: number; code?: string }>> = {
  whole: { id: 3 },
  twoDecimals: { id: 4 },
  // A sum of small weights is not shown as 0.
  oneDecimal: { id: 164, code: '[=0]0.0;[<1]General;#,##0.0' },
  threeDecimals: { id: 165, code: '0.000' },
  percent: { id: 166, code: '0.0"%"' },
};
const formatNames = Object.keys(formats) as NumberFormat[];

/** Before the formats of numbers in the list of styles: plain and bold, then both with texts that are wrapped. */
const textStyles = 4;

/** The table as a workbook of one sheet (Office Open XML, `.xlsx`). Texts stay texts, whatever they begin with. */
export function workbookOf(sheet: Sheet): Promise<Blob> {
  const main = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
  const relations = 'http://schemas.openxmlformats.org/package/2006/relationships';
  const documents = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const types = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
  const files = {
    '[Content_Types].xml': `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${types}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${types}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${types}.styles+xml"/></Types>`,
    '_rels/.rels': `<Relationships xmlns="${relations}"><Relationship Id="rId1" Type="${documents}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
    'xl/workbook.xml': `<workbook xmlns="${main}" xmlns:r="${documents}"><sheets><sheet name="${attribute(sheet.name.slice(0, 31))}" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${relations}"><Relationship Id="rId1" Type="${documents}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${documents}/styles" Target="styles.xml"/></Relationships>`,
    'xl/styles.xml': `<styleSheet xmlns="${main}">${styles()}</styleSheet>`,
    'xl/worksheets/sheet1.xml': `<worksheet xmlns="${main}">${sheetXml(sheet)}</worksheet>`,
  };
  const encoder = new TextEncoder();
  return zipOf(
    Object.entries(files).map(([name, text]) => ({
      name,
      content: encoder.encode(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n${text}`),
    })),
  );
}

const attribute = (text: string): string => xmlText(text).replaceAll('"', '&quot;');

function styles(): string {
  const own = Object.values(formats).filter(({ code }) => code !== undefined);
  const text = (font: number, wraps: boolean) =>
    `<xf numFmtId="0" fontId="${font}" fillId="0" borderId="0" xfId="0" applyFont="1" applyAlignment="1"><alignment vertical="top"${wraps ? ' wrapText="1"' : ''}/></xf>`;
  const number = (id: number) =>
    `<xf numFmtId="${id}" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyAlignment="1"><alignment vertical="top"/></xf>`;
  const cells = [
    text(0, false),
    text(1, false),
    text(0, true),
    text(1, true),
    ...formatNames.map((name) => number(formats[name].id)),
  ];
  return [
    `<numFmts count="${own.length}">${own.map(({ id, code = '' }) => `<numFmt numFmtId="${id}" formatCode="${attribute(code)}"/>`).join('')}</numFmts>`,
    '<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>',
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>',
    '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>',
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>',
    `<cellXfs count="${cells.length}">${cells.join('')}</cellXfs>`,
  ].join('');
}

function sheetXml({ rows, frozen, widths }: Sheet): string {
  const columns = Math.max(1, ...rows.map(({ length }) => length));
  const merged: string[] = [];
  const lines = rows.map((cells, row) => {
    const written = cells.map((cell, column) => {
      if (cell === null) return '';
      const span = cell.span ?? 1;
      if (span > 1) merged.push(`${placeOf(column, row)}:${placeOf(column + span - 1, row)}`);
      return cellXml(cell, placeOf(column, row));
    });
    return `<row r="${row + 1}">${written.join('')}</row>`;
  });
  const width = (column: number) => widths[Math.min(column, widths.length - 1)] ?? 10;
  return [
    `<sheetViews><sheetView workbookViewId="0"><pane xSplit="${frozen.columns}" ySplit="${frozen.rows}" topLeftCell="${placeOf(frozen.columns, frozen.rows)}" activePane="bottomRight" state="frozen"/></sheetView></sheetViews>`,
    `<cols>${Array.from({ length: columns }, (_, at) => `<col min="${at + 1}" max="${at + 1}" width="${width(at)}" customWidth="1"/>`).join('')}</cols>`,
    `<sheetData>${lines.join('')}</sheetData>`,
    merged.length > 0 &&
      `<mergeCells count="${merged.length}">${merged.map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells>`,
  ]
    .filter(Boolean)
    .join('');
}

function cellXml({ value, format, isHead = false, wraps = false }: SheetCell, place: string): string {
  if (typeof value === 'number') {
    const style = format === undefined ? 0 : textStyles + formatNames.indexOf(format);
    return `<c r="${place}" s="${style}"><v>${value}</v></c>`;
  }
  const style = (isHead ? 1 : 0) + (wraps ? 2 : 0);
  return `<c r="${place}" s="${style}" t="inlineStr"><is><t xml:space="preserve">${xmlText(value)}</t></is></c>`;
}

const placeOf = (column: number, row: number): string => `${columnName(column)}${row + 1}`;
