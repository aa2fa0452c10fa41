import { Download, FileSpreadsheet } from 'lucide-react';
import { toast } from '../../app/toasts.tsx';
import { Button } from '../../parts/button.tsx';
import { fileName, saveFile } from '../../parts/save-file.ts';
import { csvOf, type Sheet } from '../../parts/sheet.ts';

interface TakeAwayProps {
  /** The name of the files, without an ending. */
  name: string;
  /** The table as it is seen now. */
  sheetOf(): Sheet;
  isDisabled: boolean;
}

/** Saves the table that is seen as a file. */
export function TakeAway({ name, sheetOf, isDisabled }: TakeAwayProps) {
  const saveWorkbook = async () => {
    try {
      const { workbookOf } = await import('../../parts/workbook.ts');
      saveFile(await workbookOf(sheetOf()), fileName(name, 'xlsx'));
    } catch (failure) {
      toast({ text: `The file was not made: ${(failure as Error).message}`, isError: true });
    }
  };
  return (
    <>
      <Button
        icon={<Download aria-hidden />}
        aria-label="Save as CSV"
        isDisabled={isDisabled}
        onPress={() => saveFile(csvOf(sheetOf()), fileName(name, 'csv'))}
      >
        CSV
      </Button>
      <Button
        icon={<FileSpreadsheet aria-hidden />}
        aria-label="Save as Excel"
        isDisabled={isDisabled}
        onPress={() => void saveWorkbook()}
      >
        Excel
      </Button>
    </>
  );
}
