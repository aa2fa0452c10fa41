import { z } from 'zod';
import type { Condition, OptionsFrom, Skip } from './path/definition.ts';

// Nothing is taken yet: what an author may send is checked with the survey.
const refused = <T>() =>
  z.record(z.string(), z.unknown()).refine(() => false, 'is not taken yet') as unknown as z.ZodType<T, T>;
export const conditionInput = refused<Condition>();
export const skipsInput = z.array(refused<Skip>()).max(0);
export const optionsFromInput = refused<OptionsFrom>();
