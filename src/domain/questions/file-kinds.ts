/** Names of media types, and of all types of a pattern, where the type itself is no name that people know. */
const names: Readonly<Record<string, string>> = {
  'image/*': 'JPG, PNG, HEIC, …',
  'audio/*': 'MP3, M4A, WAV, …',
  'video/*': 'MP4, MOV, WEBM, …',
  'text/*': 'TXT, CSV, …',
  'application/*': 'PDF, DOCX, XLSX, …',
  'application/octet-stream': '…',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'DOCX',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'XLSX',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'PPTX',
  'application/vnd.openxmlformats-officedocument.presentationml.slideshow': 'PPSX',
  'application/vnd.ms-word.document.macroenabled.12': 'DOCM',
  'application/vnd.ms-excel.sheet.macroenabled.12': 'XLSM',
  'application/vnd.ms-powerpoint.presentation.macroenabled.12': 'PPTM',
  'application/x-cfb': 'DOC, XLS, PPT',
  'application/vnd.oasis.opendocument.text': 'ODT',
  'application/vnd.oasis.opendocument.spreadsheet': 'ODS',
  'application/vnd.oasis.opendocument.presentation': 'ODP',
  'application/vnd.oasis.opendocument.graphics': 'ODG',
  'application/x-7z-compressed': '7Z',
  'text/plain': 'TXT',
  'text/tab-separated-values': 'TSV',
  'text/markdown': 'MD',
  'text/calendar': 'ICS',
  'text/vcard': 'VCF',
  'image/jpeg': 'JPG',
  'image/vnd.adobe.photoshop': 'PSD',
  'image/vnd.microsoft.icon': 'ICO',
  'image/x-icon': 'ICO',
  'audio/mpeg': 'MP3',
  'audio/mp4': 'M4A',
  'audio/vnd.wave': 'WAV',
  'audio/wave': 'WAV',
  'video/quicktime': 'MOV',
  'video/x-matroska': 'MKV',
  'video/vnd.avi': 'AVI',
  'video/x-msvideo': 'AVI',
};

/** The last word of a media type, without marks of its origin and structure: `svg` of `image/svg+xml`. */
const lastWordOf = (type: string): string =>
  (type.replace('/*', '').split(/[/.]/).at(-1) ?? '').replace(/^x-(?=.)/, '').replace(/(?<=.)\+\w+$/, '');

const nameOf = (type: string): string => names[type] ?? (lastWordOf(type) || type).toUpperCase();

/** The kinds of files that a FILE_UPLOAD takes, by their usual endings; undefined where its settings name none. */
export function fileKindsOf(settings: Readonly<Record<string, unknown>>): string | undefined {
  const mimeTypes = settings['mimeTypes'] as readonly string[] | undefined;
  return mimeTypes && [...new Set(mimeTypes.map(nameOf))].join(', ');
}
