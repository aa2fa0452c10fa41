/** Lets the browser save a file under this name. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the file after this task.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** A title as the name of a file: without characters that file systems refuse. */
export const fileName = (title: string, ending: string): string =>
  `${
    title
      .replace(/[\u0000-\u001f\\/:*?"<>|]+/g, ' ')
      .trim()
      .slice(0, 100) || 'File'
  }.${ending}`;
