import { Link } from '@tanstack/react-router';
import { Download, ExternalLink } from 'lucide-react';
import { useMemo, useState } from 'react';
import { languageName } from '../../../../src/domain/translation/language-name.ts';
import { rotateToken, type SurveyWithQuestions } from '../../data/surveys.ts';
import { Button, LinkButton } from '../../parts/button.tsx';
import { ConfirmDialog } from '../../parts/dialog.tsx';
import { Secret } from '../../parts/form.tsx';
import { Card, Disclosure } from '../../parts/page.tsx';
import { saveFile } from '../../parts/save-file.ts';
import { addressOf } from './links.ts';
import styles from './publish.module.css';
import { pngOfQr, qrModules, qrPath, svgOfQr } from './qr.ts';

/** The link of a survey, as text, QR code and embed code. */
export function LinkCard({ survey }: { survey: SurveyWithQuestions }) {
  const [isReplacing, setReplacing] = useState(false);
  const { accessToken: token } = survey;
  const link = addressOf(survey, survey.id);
  const attributes = `data-survey="${survey.id}"${token === undefined ? '' : ` data-survey-token="${token}"`}`;
  const embed = `<script src="${location.origin}/embed.js" ${attributes}></script>`;
  return (
    <Card
      title="Link"
      actions={
        <LinkButton href={link} target="_blank" icon={<ExternalLink aria-hidden />}>
          Open
        </LinkButton>
      }
    >
      <p className="muted">
        {accessText(survey)}{' '}
        <Link to="/surveys/$surveyId/settings" params={{ surveyId: survey.id }}>
          Change who can answer
        </Link>
      </p>
      <p className="muted">
        It is written in {languageName(survey.language)}.{' '}
        <Link to="/surveys/$surveyId/languages" params={{ surveyId: survey.id }}>
          Change or translate
        </Link>
      </p>
      <Secret label="Link for respondents" text={link} />
      <Qr link={link} />
      {token !== undefined && (
        <div>
          <Button onPress={() => setReplacing(true)}>Replace the token</Button>
        </div>
      )}
      <ConfirmDialog
        title="Replace the token?"
        isOpen={isReplacing}
        onClose={() => setReplacing(false)}
        action="Replace"
        isDangerous
        onConfirm={() => rotateToken(survey.id)}
      >
        Links that were sent before, those of collectors and invitations too, and codes in other pages no longer open
        the survey.
      </ConfirmDialog>
      <Disclosure title="Embed in a page">
        <Secret label="Code" text={embed} />
        <p className="muted">
          {survey.appearance.allowedOrigins.length === 0
            ? 'No page of others may show the survey yet. '
            : 'Pages of these origins may show it: '}
          <span dir="ltr">{survey.appearance.allowedOrigins.join(', ')}</span>{' '}
          <Link to="/surveys/$surveyId/settings" params={{ surveyId: survey.id }}>
            Change in Settings
          </Link>
          . With <code>data-mode="popup"</code> it opens at a button, with <code>data-mode="full"</code> it covers the
          page.
        </p>
      </Disclosure>
    </Card>
  );
}

function accessText({ visibility, accessToken }: SurveyWithQuestions): string {
  if (visibility === 'PUBLIC') return 'The survey is public: whoever has its link can answer.';
  return accessToken === undefined
    ? 'The survey is private: link and code work only with its token, which its editors see.'
    : 'The survey is private: whoever has this link or the code, with its token, can answer.';
}

function Qr({ link }: { link: string }) {
  const modules = useMemo(() => qrModules(link), [link]);
  return (
    <div className={styles.qr}>
      <svg viewBox={`0 0 ${modules.length} ${modules.length}`} role="img" aria-label={`QR code of ${link}`}>
        <rect width="100%" height="100%" fill="#fff" />
        <path d={qrPath(modules)} fill="#000" />
      </svg>
      <div className={styles.stack}>
        <Button
          icon={<Download aria-hidden />}
          onPress={() => saveFile(new Blob([svgOfQr(modules)], { type: 'image/svg+xml' }), 'survey-qr.svg')}
        >
          Download SVG
        </Button>
        <Button icon={<Download aria-hidden />} onPress={async () => saveFile(await pngOfQr(modules), 'survey-qr.png')}>
          Download PNG
        </Button>
      </div>
    </div>
  );
}
