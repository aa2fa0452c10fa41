import { useQuery } from '@tanstack/react-query';
import { Download, Upload } from 'lucide-react';
import { useState } from 'react';
import { csvText } from '../../../../src/platform/csv-text.ts';
import { useShownOnce } from '../../app/shown-once.ts';
import {
  type Collector,
  createInvitations,
  type Invitation,
  type InvitationStatus,
  invitationCountsQuery,
  invitationListQuery,
  invitationStatuses,
  type MadeInvitation,
  revokeInvitation,
} from '../../data/collectors.ts';
import { type ProblemText, problemText, sentence } from '../../data/problems.ts';
import type { SurveyWithQuestions } from '../../data/surveys.ts';
import { Button } from '../../parts/button.tsx';
import { Select } from '../../parts/choice-fields.tsx';
import type { Column } from '../../parts/data-table.tsx';
import { ConfirmDialog, Dialog, DialogActions } from '../../parts/dialog.tsx';
import { Badge, EmptyState, FormError, type Tone } from '../../parts/feedback.tsx';
import { FileButton } from '../../parts/file-button.tsx';
import { formatCount } from '../../parts/format.ts';
import { NumberField } from '../../parts/number-field.tsx';
import { Toolbar } from '../../parts/page.tsx';
import { PagedTable } from '../../parts/paged-table.tsx';
import { saveFile } from '../../parts/save-file.ts';
import { csvFile } from '../../parts/sheet.ts';
import { addressOf } from './links.ts';
import styles from './publish.module.css';

const pageSize = 20;
const states: Readonly<Record<InvitationStatus, { text: string; tone: Tone }>> = {
  UNUSED: { text: 'Unused', tone: 'neutral' },
  STARTED: { text: 'Started', tone: 'accent' },
  COMPLETED: { text: 'Completed', tone: 'success' },
  REVOKED: { text: 'Revoked', tone: 'error' },
  EXPIRED: { text: 'Expired', tone: 'warning' },
};
const statusOptions = [
  { value: 'ALL', label: 'Every state' },
  ...invitationStatuses.map((value) => ({ value, label: states[value].text })),
];

interface InvitationsProps {
  survey: SurveyWithQuestions;
  collector: Collector;
  isReadOnly: boolean;
  onClose(): void;
}

/** The invitations of a collector: making them from a file or by number, and what has become of each. */
export function Invitations({ survey, collector, isReadOnly, onClose }: InvitationsProps) {
  const [page, setPage] = useState(1);
  const [status, setStatus] = useState<InvitationStatus>();
  const [revoked, setRevoked] = useState<Invitation>();
  const list = useQuery(invitationListQuery(collector.id, { page, limit: pageSize, status }));
  const { data: counts } = useQuery(invitationCountsQuery(collector.id));
  const columns: Column<Invitation>[] = [
    {
      id: 'reference',
      title: 'Reference',
      width: 'minmax(8rem, 2fr)',
      cell: ({ reference }) => <span dir="auto">{reference ?? '–'}</span>,
    },
    {
      id: 'status',
      title: 'State',
      width: '8rem',
      cell: ({ status: state }) => <Badge tone={states[state].tone}>{states[state].text}</Badge>,
    },
    { id: 'usedOn', title: 'Used on', width: '7rem', cell: ({ usedOn }) => usedOn ?? '–' },
    ...(isReadOnly
      ? []
      : [
          {
            id: 'actions',
            title: 'Actions',
            width: '7.5rem',
            isTitleHidden: true,
            cell: (invitation: Invitation) =>
              ['UNUSED', 'STARTED'].includes(invitation.status) && (
                <Button
                  look="quiet"
                  aria-label={`Revoke ${invitation.reference ?? 'the invitation'}`}
                  onPress={({ target }) => {
                    // The button goes with the invitation, so the dialog gives the focus back to the row.
                    target.closest<HTMLElement>('[role=row]')?.focus();
                    setRevoked(invitation);
                  }}
                >
                  Revoke
                </Button>
              ),
          },
        ]),
  ];
  const links = useLinks(survey, collector);
  const isKept = links.isPending || (links.made.length > 0 && !links.isDownloaded);
  useShownOnce(isKept);
  return (
    <Dialog title={`Invitations of “${collector.name}”`} isOpen onClose={onClose} isWide isDismissable={!isKept}>
      {!isReadOnly && <MakeInvitations links={links} />}
      {survey.isAnonymous && (
        <p className="muted">
          The survey is anonymous: an invitation only opens it, and nothing ties it to a response. Its language is not
          used. Its use shows by the day, once ten were used or after an hour.
        </p>
      )}
      <Toolbar>
        <Select
          label="State"
          isLabelHidden
          options={statusOptions}
          value={status ?? 'ALL'}
          onChange={(next) => {
            setStatus(invitationStatuses.find((known) => known === next));
            setPage(1);
          }}
        />
        {counts && (
          <span className="muted">
            {`${formatCount(counts.byStatus.COMPLETED)} of ${formatCount(counts.total)} completed`}
          </span>
        )}
      </Toolbar>
      <PagedTable
        query={list}
        label="Invitations"
        columns={columns}
        rowKey={({ id }) => id}
        page={page}
        pageSize={pageSize}
        onPage={setPage}
        loadingLines={4}
        empty={<EmptyState title={status === undefined ? 'No invitations yet' : 'No invitation is in this state'} />}
      />
      <DialogActions>
        <Button onPress={onClose} isDisabled={links.isPending}>
          Close
        </Button>
      </DialogActions>
      {revoked && (
        <ConfirmDialog
          title={revoked.reference === null ? 'Revoke the invitation?' : `Revoke “${revoked.reference}”?`}
          isOpen
          onClose={() => setRevoked(undefined)}
          action="Revoke the invitation"
          isDangerous
          onConfirm={() => revokeInvitation(revoked)}
        >
          Its link opens the survey no more, and this cannot be undone.
        </ConfirmDialog>
      )}
    </Dialog>
  );
}

interface Links {
  /** The invitations since the last download. */
  made: readonly MadeInvitation[];
  isDownloaded: boolean;
}

/** The links of invitations that are made. The service gives each once: they pile up until they are downloaded. */
function useLinks(survey: SurveyWithQuestions, collector: Collector) {
  const [isPending, setPending] = useState(false);
  const [failure, setFailure] = useState<ProblemText>();
  const [links, setLinks] = useState<Links>({ made: [], isDownloaded: false });
  const make = async (csv: Blob) => {
    setPending(true);
    setFailure(undefined);
    try {
      const more = await createInvitations(collector.id, csv);
      setLinks(({ made, isDownloaded }) => ({ made: isDownloaded ? more : [...made, ...more], isDownloaded: false }));
    } catch (error) {
      setFailure(problemText(error));
    } finally {
      setPending(false);
    }
  };
  const download = () => {
    saveFile(csvFile(linkLines(survey, collector, links.made)), 'invitations.csv');
    setLinks({ ...links, isDownloaded: true });
  };
  return { ...links, isPending, failure, make, download };
}

function MakeInvitations({ links }: { links: ReturnType<typeof useLinks> }) {
  const { made, isPending, failure, make, download } = links;
  const [number, setNumber] = useState<number | null>(10);
  return (
    <div className={styles.stack}>
      <p className="muted">
        A CSV file has a line of names: <code>reference, language, expiresAt</code>, and <code>metadata.KEY</code> for
        notes of each person. All of them are optional.
      </p>
      <div className={styles.make}>
        <FileButton
          accept={['.csv', 'text/csv']}
          onFile={(file) => void make(file)}
          icon={<Upload aria-hidden />}
          isPending={isPending}
        >
          Upload a CSV
        </FileButton>
        <NumberField label="Without names" value={number} onChange={setNumber} minValue={1} maxValue={100_000} />
        <Button isPending={isPending} onPress={() => void make(blankRows(number ?? 1))}>
          Create
        </Button>
      </div>
      {failure && <FormError>{failure.text}</FormError>}
      {failure && failure.details.length > 0 && (
        <ul aria-label="Lines with errors">
          {failure.details.map(({ path, message }) => (
            <li key={`${path} ${message}`}>{lineText(path, message)}</li>
          ))}
        </ul>
      )}
      {made.length > 0 && (
        <div className={styles.made} role="status">
          <span>
            {made.length === 1 ? '1 invitation is made.' : `${formatCount(made.length)} invitations are made.`} Download
            the links now: they are not shown again.
          </span>
          <Button look="primary" icon={<Download aria-hidden />} onPress={download}>
            Download the links
          </Button>
        </div>
      )}
    </div>
  );
}

/** `lines.7.expiresAt` as “Line 7, expiresAt: …”. */
function lineText(path: string, message: string): string {
  const [, line, field] = /^lines\.(\d+)(?:\.(.+))?$/.exec(path) ?? [];
  if (line === undefined) return sentence(message);
  return field === undefined ? `Line ${line}: ${sentence(message)}` : `Line ${line}, ${field} ${message}.`;
}

/** Rows of which nothing is known. */
const blankRows = (rows: number): Blob => new Blob([`reference,language\n${',\n'.repeat(rows)}`]);

/** A reference is whatever its sender wrote, and no formula for a spreadsheet. */
const linkLines = (
  survey: SurveyWithQuestions,
  { linkId }: Collector,
  invitations: readonly MadeInvitation[],
): string[] => [
  'reference,token,link',
  ...invitations.map(
    ({ reference, token }) => `${csvText(reference ?? '')},${token},${addressOf(survey, linkId, token)}`,
  ),
];
