import { render } from 'preact';
import { takeToken } from './api.ts';
import { App } from './app.tsx';
import { connect } from './state.ts';
import { applyTheme } from './theme.tsx';

applyTheme();
const token = takeToken();
if (token !== undefined) connect(token);
const root = document.getElementById('app');
if (root !== null) render(<App hasToken={token !== undefined} />, root);
