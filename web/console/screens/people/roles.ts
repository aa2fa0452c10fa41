import type { Role } from '../../data/users.ts';
import type { Option } from '../../parts/choice-fields.tsx';

export const roleOptions: readonly Option<Role>[] = [
  { value: 'ADMIN', label: 'ADMIN', note: 'Everything: all surveys, users, settings of the service.' },
  { value: 'EDITOR', label: 'EDITOR', note: 'Makes surveys, and changes those that are shared for it.' },
  { value: 'VIEWER', label: 'VIEWER', note: 'Reads the surveys that are shared.' },
];
