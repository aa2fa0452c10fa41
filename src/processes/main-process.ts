import type { Figures } from '../metrics.ts';
import { createAnswers } from './answers.ts';
import type { FromHttpProcess, ToHttpProcess } from './messages.ts';

/** Longer than the main process waits for each of the others. */
const figuresWithinMs = 2000;

/** The main process as one of its HTTP processes sees it. */
export function createMainProcess() {
  const answers = createAnswers<Figures[]>(figuresWithinMs);
  const tell = (message: FromHttpProcess) => void (process.connected && process.send?.(message, undefined, undefined, () => undefined));
  return {
    listening: (port: number): void => tell({ kind: 'listening', port }),
    /** The figures of all processes; undefined when the main process does not say them in time. */
    figuresOfAll: () => answers.ask((ask) => tell({ kind: 'figures wanted', ask })),
    /** Answers the main process's questions for this one's figures. */
    tellFigures(own: () => Promise<Figures>): void {
      process.on('message', (message: ToHttpProcess) => {
        if (message.kind === 'figures of all') answers.came(message.ask, message.figures);
        else void own().then((figures) => tell({ kind: 'figures', ask: message.ask, figures }));
      });
    },
  };
}
