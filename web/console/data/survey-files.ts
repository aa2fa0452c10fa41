import { carryOut } from '../app/unsaved.ts';
import { api, dataOf, type operations } from './api.ts';
import { UserError } from './problems.ts';
import { queryClient, readAnewIfReading } from './query-client.ts';
import { type SurveyWithQuestions, surveyChanged, surveyQuery } from './surveys.ts';

const maxLogoBytes = 256 * 1024;

/** Sets the picture above a survey. Throws an Error with a sentence for a file that is too large to be sent. */
export async function setLogo(id: string, file: File): Promise<void> {
  if (file.size > maxLogoBytes) throw new UserError(`The picture has more than ${maxLogoBytes / 1024} KiB.`);
  const request = { params: { path: { id } }, body: file as never, bodySerializer: (body: unknown) => body as Blob };
  const appearance = await dataOf(
    api.PUT('/surveys/{id}/logo', { ...request, headers: { 'content-type': 'image/png' } }),
  );
  const { queryKey } = surveyQuery(id);
  queryClient.setQueryData(queryKey, (old) => old && { ...old, appearance });
  readAnewIfReading(queryKey);
}

export async function removeLogo(id: string): Promise<void> {
  await dataOf(api.DELETE('/surveys/{id}/logo', { params: { path: { id } } }));
  await queryClient.invalidateQueries({ queryKey: surveyQuery(id).queryKey });
}

/** Makes a survey of a JSON file. Throws a UserError for a file that is none, else what the service refuses. */
export async function importSurvey(file: File): Promise<SurveyWithQuestions> {
  let content: unknown;
  try {
    content = JSON.parse(await file.text());
  } catch {
    throw new UserError(
      /\.json$/i.test(file.name)
        ? 'This file is not JSON.'
        : 'This file is neither the JSON of a survey nor a CSV. Save a table of Excel or SPSS as CSV first.',
    );
  }
  // Replies of the API have the survey in an envelope.
  const { success, data } = Object(content) as { success?: unknown; data?: unknown };
  return importSurveyBody((success === true ? data : content) as NewSurveyFile);
}

/** Makes a draft of a survey's JSON. */
export const importSurveyBody = async (body: NewSurveyFile): Promise<SurveyWithQuestions> =>
  surveyChanged(await dataOf(api.POST('/surveys/import', { body })));

type NewSurveyFile = NonNullable<operations['importSurvey']['requestBody']>['content']['application/json'];

/** The JSON file that `importSurvey` takes. */
export async function surveyFile(id: string): Promise<Blob> {
  await carryOut(id);
  const survey = await dataOf(api.GET('/surveys/{id}', { params: { path: { id } } }));
  const { accessToken: _, ...shared } = survey as typeof survey & { accessToken?: string };
  return new Blob([JSON.stringify(shared, null, 2)], { type: 'application/json' });
}
