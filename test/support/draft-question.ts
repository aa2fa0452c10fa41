/** A question of a draft as a provider of AI writes it, with every field that its schema demands. */
export const draftQuestion = (type: string, text: string, fields: object = {}) => ({
  type,
  text,
  description: null,
  isRequired: false,
  options: [],
  rows: [],
  min: null,
  max: null,
  step: null,
  section: null,
  onlyIfQuestion: null,
  onlyIfOptions: [],
  ...fields,
});
