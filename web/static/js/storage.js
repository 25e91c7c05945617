// The browser's storage, which may be full, switched off or hold values that we did not write.

export const onPage = guarded(() => window.sessionStorage); // of this tab, until it is closed
export const inBrowser = guarded(() => window.localStorage); // until the user clears it

function guarded(storage) {
  return {
    /** The stored value, or `fallback` if there is none that can be read. */
    get(key, fallback = null) {
      try {
        const text = storage().getItem(`gec.${key}`);
        return text === null ? fallback : JSON.parse(text);
      } catch {
        return fallback;
      }
    },
    /** The keys that begin with a prefix. */
    keys(start) {
      try {
        return Object.keys(storage())
          .filter((key) => key.startsWith(`gec.${start}`))
          .map((key) => key.slice(4));
      } catch {
        return [];
      }
    },
    /** Store a value; null removes the stored one. Returns false if the browser refuses. */
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
