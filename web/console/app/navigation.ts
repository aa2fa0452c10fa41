import { Activity, ClipboardList, History, KeyRound, type LucideIcon, Sparkles, Users, Webhook } from 'lucide-react';
import type { CurrentUser } from '../data/me.ts';

type Role = CurrentUser['role'];

interface Place {
  title: string;
  path: string;
  icon: LucideIcon;
  roles: readonly Role[];
}

const everyone: readonly Role[] = ['ADMIN', 'EDITOR', 'VIEWER'];

/** The side navigation; router.tsx has a route for each. */
const places: readonly Place[] = [
  { title: 'Surveys', path: '/surveys', icon: ClipboardList, roles: everyone },
  { title: 'Webhooks', path: '/webhooks', icon: Webhook, roles: ['ADMIN', 'EDITOR'] },
  { title: 'People', path: '/people', icon: Users, roles: ['ADMIN'] },
  { title: 'Keys', path: '/keys', icon: KeyRound, roles: everyone },
  { title: 'Audit', path: '/audit', icon: History, roles: ['ADMIN'] },
  { title: 'AI', path: '/ai', icon: Sparkles, roles: ['ADMIN'] },
  { title: 'Service', path: '/service', icon: Activity, roles: ['ADMIN'] },
];

/** The places that a user may go to; none before it is known who that is. */
export const placesOf = (user: CurrentUser | undefined): readonly Place[] =>
  places.filter(({ roles }) => user && roles.includes(user.role));

/** The tabs within a survey, in order; router.tsx has a route for each. */
export const surveyTabs = [
  { title: 'Build', view: 'build' },
  { title: 'Languages', view: 'languages' },
  { title: 'Publish', view: 'publish' },
  { title: 'Quotas', view: 'quotas' },
  { title: 'Results', view: 'results' },
  { title: 'Crosstab', view: 'crosstab' },
  { title: 'Texts', view: 'texts' },
  { title: 'Responses', view: 'responses' },
  { title: 'Exports', view: 'exports' },
  { title: 'Reports', view: 'reports' },
  { title: 'Settings', view: 'settings' },
] as const;
