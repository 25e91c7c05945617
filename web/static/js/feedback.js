// What the user decides about corrections, for whoever runs the server: only with consent.
//
// The server signs what it has shown of a sentence; a decision names the place of its edit in
// that. An edit stays with the first answer that showed it, while others around it are made.

export class Feedback {
  #send;
  #last = Promise.resolve();
  #decided = new Map(); // id of what was accepted or ignored -> {token, edit}

  /** `send` posts one decision and returns a promise. */
  constructor(send) {
    this.#send = send;
  }

  /** A correction was "accepted" or "ignored"; `id` is what takes it back. */
  decide(id, shown, decision) {
    if (!shown) return;
    this.#decided.set(id, shown);
    this.#post(shown, decision);
  }

  takeBack(id) {
    const shown = this.#decided.get(id);
    if (!shown) return;
    this.#decided.delete(id);
    this.#post(shown, "undecided");
  }

  /** The consent ended: nothing more is said about anything. */
  forget() {
    this.#decided.clear();
  }

  /** One after another, since the later counts; never in the user's way. */
  #post({ token, edit }, decision) {
    const body = { shown: token, edit, decision, consent: true };
    this.#last = this.#last.then(() => this.#send(body)).catch(() => {});
  }
}
