// The browser's storage, which may be full, switched off or hold something else than we wrote.

export const onPage = guarded(() => window.sessionStorage); // of this tab, until it is closed
export const inBrowser = guarded(() => window.localStorage); // until the user clears it

function guarded(storage) {
  return {
    /** The stored value, or `fallback` where there is none that can be read. */
    get(key, fallback = null) {
      try {
        const text = storage().getItem(`gec.${key}`);
        return text === null ? fallback : JSON.parse(text);
      } catch {
        return fallback;
      }
    },
    /** The keys that begin with something. */
    keys(start) {
      try {
        return Object.keys(storage())
          .filter((key) => key.startsWith(`gec.${start}`))
          .map((key) => key.slice(4));
      } catch {
        return [];
      }
    },
    /** Store a value; null removes it. False where the browser refuses. */
    set(key, value) {
      try {
        if (value === null) storage().removeItem(`gec.${key}`);
        else storage().setItem(`gec.${key}`, JSON.stringify(value));
        return true;
      } catch {
        return false;
      }
    },
  };
}
