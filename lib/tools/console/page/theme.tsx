import { useState } from 'preact/hooks';
import { MoonIcon, SunIcon, SystemIcon } from './icons.tsx';

const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];
const KEY = 'leasehold-theme';

const chosen = (): Theme => {
  const kept = localStorage.getItem(KEY);
  return themes.find((theme) => theme === kept) ?? 'system';
};

export function applyTheme(theme: Theme = chosen()): void {
  localStorage.setItem(KEY, theme);
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  dispatchEvent(new Event('themechange'));
}

const icons = { system: SystemIcon, light: SunIcon, dark: MoonIcon };

export function ThemeButton() {
  const [theme, setTheme] = useState(chosen);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'system';
  const Icon = icons[theme];
  const change = () => {
    applyTheme(next);
    setTheme(next);
  };
  return (
    <button type="button" class="icon-button" onClick={change} title={`Colors: ${theme}. Change to ${next}`}>
      <Icon />
      <span class="visually-hidden">
        Colors: {theme}. Change to {next}
      </span>
    </button>
  );
}
