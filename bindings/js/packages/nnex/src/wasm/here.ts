/** Where a script's files are, if it is no module (a bundle of another format, `<script src>`): it has no import.meta.url then. */
const current = import.meta.url === undefined && typeof document !== 'undefined' ? (document.currentScript as HTMLScriptElement | null) : null;

/** The address of this script, where it is none that import.meta.url tells. */
export const script: string | undefined = import.meta.url === undefined ? current?.src || globalThis.location?.href : undefined;
