'use strict';
/** What the page builds on: elements, times, calls. All texts are set as text, so none of them can become markup. */
window.musterPage = (() => {
  /** `attributes`: values that are undefined are left out. */
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [attribute, value] of Object.entries(attributes)) {
      if (value !== undefined) made.setAttribute(attribute, value);
    }
    made.append(...children.filter((child) => child !== undefined && child !== ''));
    return made;
  }

  function time(millis) {
    if (millis === undefined) return '';
    const at = new Date(millis);
    return element('time', { datetime: at.toISOString() }, at.toLocaleString());
  }

  function duration(millis) {
    const seconds = Math.round(millis / 1000);
    if (seconds < 120) return `${seconds} s`;
    return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
  }

  /** A member of the JSON in a cookie. */
  function fromCookie(cookieName, member) {
    const found = document.cookie.split('; ').find((cookie) => cookie.startsWith(`${cookieName}=`));
    if (!found) return undefined;
    try {
      return JSON.parse(decodeURIComponent(found.slice(cookieName.length + 1)))[member];
    } catch {
      return undefined;
    }
  }

  return { element, time, duration, fromCookie };
})();
