// A form by SurveyJS as its documentation shows it: the model and the user interface for pages without a framework.
import { Model } from 'survey-core';
import { renderSurvey } from 'survey-js-ui';
import 'survey-core/survey-core.min.css';

// Put here by the build.
renderSurvey(new Model(__SURVEY__), document.getElementById('survey'));
