import { render } from 'preact';
import { takeToken } from './api.ts';
import { App } from './app.tsx';
import { openStream } from './stream.ts';

const token = takeToken();
if (token !== undefined) openStream(token);
const root = document.getElementById('app');
if (root !== null) render(<App hasToken={token !== undefined} />, root);
