import type { SurveyStatus } from '../../data/surveys.ts';
import { Badge, type Tone } from '../../parts/feedback.tsx';

export const statusNames: Readonly<Record<SurveyStatus, string>> = {
  DRAFT: 'Draft',
  ACTIVE: 'Active',
  PAUSED: 'Paused',
  CLOSED: 'Closed',
};

const tones: Readonly<Record<SurveyStatus, Tone>> = {
  DRAFT: 'neutral',
  ACTIVE: 'success',
  PAUSED: 'warning',
  CLOSED: 'error',
};

export const SurveyStatusBadge = ({ status }: { status: SurveyStatus }) => (
  <Badge tone={tones[status]}>{statusNames[status]}</Badge>
);
